resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_private_service_connect" "apis" {
  name    = "apis"
  network = warren_gcp_network.hub.id
  address = "10.255.0.2"
}
