resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private" {
  name              = "acme-hub-private"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_route_table" "private" {
  name       = "acme-hub-private"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.private.id]
}
