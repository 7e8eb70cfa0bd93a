resource "warren_gcp_wireguard_key" "gateway" {
  name = "acme-gw-a-wireguard"
}
