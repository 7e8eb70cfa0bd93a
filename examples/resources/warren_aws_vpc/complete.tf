resource "warren_aws_vpc" "hub" {
  name                  = "acme-hub"
  cidr_block            = "10.20.0.0/16"
  secondary_cidr_blocks = ["10.21.0.0/16"]
  assign_generated_ipv6 = true

  enable_dns_support   = true
  enable_dns_hostnames = true
  instance_tenancy     = "default"

  lock_default_security_group = true

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "ipv6_cidr_block" {
  value = warren_aws_vpc.hub.ipv6_cidr_block
}
