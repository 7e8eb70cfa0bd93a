resource "warren_aws_vpc" "hub" {
  name                  = "acme-hub"
  cidr_block            = "10.20.0.0/16"
  assign_generated_ipv6 = true
}

resource "warren_aws_subnet" "public" {
  name              = "acme-hub-public"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.0.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "acme-hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_transit_gateway" "hub" {
  name = "acme-hub"
}

resource "warren_aws_transit_gateway_attachment" "hub" {
  name               = "acme-hub"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.hub.id
  subnet_ids         = [warren_aws_subnet.public.id]
}

resource "warren_aws_route_table" "public" {
  name       = "acme-hub-public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]

  routes = [
    {
      destination_cidr_block = "0.0.0.0/0"
      gateway_id             = warren_aws_internet_gateway.hub.id
    },
    {
      destination_ipv6_cidr_block = "::/0"
      gateway_id                  = warren_aws_internet_gateway.hub.id
    },
    {
      destination_cidr_block = "10.32.0.0/12"
      transit_gateway_id     = warren_aws_transit_gateway.hub.id
    },
  ]

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }

  # AWS rejects a route to a transit gateway that the VPC is not attached to.
  depends_on = [warren_aws_transit_gateway_attachment.hub]
}
