resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "data" {
  name          = "acme-data"
  network       = warren_gcp_network.hub.id
  ip_cidr_range = "10.0.16.0/20"
}
