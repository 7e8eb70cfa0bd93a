resource "warren_aws_elastic_ip" "gateway" {
  name = "acme-gw-a"

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "gateway_address" {
  value = warren_aws_elastic_ip.gateway.public_ip
}
