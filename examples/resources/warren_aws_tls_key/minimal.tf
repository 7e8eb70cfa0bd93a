resource "warren_aws_tls_key" "gateway" {
  name = "/warren/gw-a/tls"
}
