resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_network" "training" {
  name = "acme-training"
}

# The hub resolves the names of the office with the office's name servers.
resource "warren_gcp_dns_zone" "office" {
  name        = "acme-office"
  dns_name    = "corp.acme.com."
  description = "Names of the office"
  networks    = [warren_gcp_network.hub.id]
  labels      = { team = "platform" }

  forwarding_targets = [
    { ipv4_address = "10.8.0.53" },
    { ipv4_address = "10.8.1.53", forwarding_path = "private" },
  ]

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

# The training network uses the zone of the hub.
resource "warren_gcp_dns_zone" "training" {
  name            = "acme-training-office"
  dns_name        = "corp.acme.com."
  networks        = [warren_gcp_network.training.id]
  peering_network = warren_gcp_network.hub.id
}
