resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "acme-hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name              = "acme-hub-public"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.0.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_nat_gateway" "hub" {
  name      = "acme-hub"
  subnet_id = warren_aws_subnet.public.id

  depends_on = [warren_aws_internet_gateway.hub]
}
