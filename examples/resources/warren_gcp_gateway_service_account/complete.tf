resource "warren_gcp_wireguard_key" "gateway" {
  name = "acme-gw-a-wireguard"
}

resource "warren_gcp_tls_key" "gateway" {
  name = "acme-gw-a-tls"
}

resource "warren_gcp_gateway_service_account" "gateway" {
  name        = "acme-gw-a"
  description = "Reads the secrets of gateway gw-a"

  secrets = [
    warren_gcp_wireguard_key.gateway.id,
    warren_gcp_tls_key.gateway.id,
  ]

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}
