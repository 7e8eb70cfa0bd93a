resource "warren_gcp_network" "hub" {
  name                  = "acme-hub"
  delete_default_routes = true
}

resource "warren_gcp_route" "internet" {
  name             = "acme-internet"
  network          = warren_gcp_network.hub.id
  dest_range       = "0.0.0.0/0"
  next_hop_gateway = "default-internet-gateway"
}
