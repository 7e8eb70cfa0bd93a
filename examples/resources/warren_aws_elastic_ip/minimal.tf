resource "warren_aws_elastic_ip" "gateway" {
  name = "acme-gw-a"
}
