resource "warren_gcp_address" "gateway" {
  name         = "acme-gw-a"
  description  = "External address of gateway gw-a"
  region       = "us-central1"
  network_tier = "PREMIUM"

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "endpoint" {
  description = "WireGuard endpoint of the gateway."
  value       = "${warren_gcp_address.gateway.address}:51820"
}
