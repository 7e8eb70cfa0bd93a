resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private_a" {
  name              = "acme-hub-private-a"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_subnet" "private_b" {
  name              = "acme-hub-private-b"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.2.0/24"
  availability_zone = "us-east-1b"
}

resource "warren_aws_transit_gateway" "hub" {
  name = "acme-hub"
}

resource "warren_aws_transit_gateway_attachment" "hub" {
  name               = "acme-hub"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.hub.id

  # One subnet in each Availability Zone that the transit gateway must reach.
  subnet_ids = [warren_aws_subnet.private_a.id, warren_aws_subnet.private_b.id]

  dns_support    = true
  ipv6_support   = false
  appliance_mode = true

  # Another route table than the default one decides where traffic of the hub goes.
  transit_gateway_default_route_table_association = false
  transit_gateway_default_route_table_propagation = true

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

resource "warren_aws_route_table" "private" {
  name       = "acme-hub-private"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.private_a.id, warren_aws_subnet.private_b.id]

  routes = [{
    destination_cidr_block = "10.32.0.0/12"
    transit_gateway_id     = warren_aws_transit_gateway.hub.id
  }]

  depends_on = [warren_aws_transit_gateway_attachment.hub]
}
