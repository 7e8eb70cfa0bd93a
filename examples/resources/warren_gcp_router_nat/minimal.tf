resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_router_nat" "egress" {
  name    = "acme-egress"
  network = warren_gcp_network.hub.id
}
