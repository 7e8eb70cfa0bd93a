resource "warren_aws_wireguard_key" "gateway" {
  name = "/warren/gw-a/wireguard"
}
