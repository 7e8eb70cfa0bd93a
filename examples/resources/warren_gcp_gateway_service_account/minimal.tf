resource "warren_gcp_wireguard_key" "gateway" {
  name = "acme-gw-a-wireguard"
}

resource "warren_gcp_gateway_service_account" "gateway" {
  name    = "acme-gw-a"
  secrets = [warren_gcp_wireguard_key.gateway.id]
}
