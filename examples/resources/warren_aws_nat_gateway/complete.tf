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

resource "warren_aws_subnet" "private" {
  name              = "acme-hub-private"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

# The address outlives the gateway, so partners can add it to their allow lists.
resource "warren_aws_elastic_ip" "nat" {
  name = "acme-hub-nat"
}

resource "warren_aws_nat_gateway" "hub" {
  name              = "acme-hub"
  subnet_id         = warren_aws_subnet.public.id
  connectivity_type = "public"
  allocation_id     = warren_aws_elastic_ip.nat.id

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }

  depends_on = [warren_aws_internet_gateway.hub]
}

resource "warren_aws_route_table" "public" {
  name       = "acme-hub-public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]

  routes = [{
    destination_cidr_block = "0.0.0.0/0"
    gateway_id             = warren_aws_internet_gateway.hub.id
  }]
}

resource "warren_aws_route_table" "private" {
  name       = "acme-hub-private"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.private.id]

  routes = [{
    destination_cidr_block = "0.0.0.0/0"
    nat_gateway_id         = warren_aws_nat_gateway.hub.id
  }]
}
