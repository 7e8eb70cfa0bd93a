resource "warren_gcp_tls_key" "gateway" {
  name = "acme-gw-a-tls"
}
