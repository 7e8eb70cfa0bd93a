resource "warren_gcp_address" "gateway" {
  name = "acme-gw-a"
}
