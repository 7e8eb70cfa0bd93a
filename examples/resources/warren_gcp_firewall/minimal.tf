resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_firewall" "internal" {
  name          = "acme-internal"
  network       = warren_gcp_network.hub.id
  source_ranges = ["10.0.0.0/8"]
  allow         = [{ protocol = "tcp", ports = ["443"] }]
}
