resource "warren_aws_gateway_role" "gateway" {
  name       = "acme-gw-a"
  parameters = ["/warren/gw-a/config", "/warren/gw-a/tls", "/warren/gw-a/wireguard"]
}
