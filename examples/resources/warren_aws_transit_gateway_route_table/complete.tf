resource "warren_aws_transit_gateway" "hub" {
  name                            = "acme-hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

# Spokes use one table, and the hub uses another: spokes reach the hub, but not each other.
resource "warren_aws_transit_gateway_route_table" "this" {
  for_each = toset(["hub", "spokes"])

  name               = "acme-${each.key}"
  transit_gateway_id = warren_aws_transit_gateway.hub.id

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
