resource "warren_aws_transit_gateway" "hub" {
  name                            = "acme-hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

resource "warren_aws_transit_gateway_route_table" "spokes" {
  name               = "acme-spokes"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
}
