resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_dns_zone" "googleapis" {
  name     = "acme-googleapis"
  dns_name = "googleapis.com."
  networks = [warren_gcp_network.hub.id]
}
