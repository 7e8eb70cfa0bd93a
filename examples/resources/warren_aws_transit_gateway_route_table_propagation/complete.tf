resource "warren_aws_vpc" "spoke" {
  name       = "acme-spoke"
  cidr_block = "10.30.0.0/16"
}

resource "warren_aws_subnet" "spoke" {
  name           = "acme-spoke"
  vpc_id         = warren_aws_vpc.spoke.id
  vpc_cidr_block = warren_aws_vpc.spoke.cidr_block
  cidr_block     = "10.30.1.0/24"
}

resource "warren_aws_transit_gateway" "hub" {
  name                            = "acme-hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

resource "warren_aws_transit_gateway_attachment" "spoke" {
  name               = "acme-spoke"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.spoke.id
  subnet_ids         = [warren_aws_subnet.spoke.id]
}

resource "warren_aws_transit_gateway_route_table" "spokes" {
  name               = "acme-spokes"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
}

resource "warren_aws_transit_gateway_route_table_propagation" "spoke" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.spokes.id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
