variable "cidr" { type = string }

locals {
  enabled = true
}

resource "aws_vpc" "default" {
  count      = local.enabled ? 1 : 0
  cidr_block = var.cidr
}

output "vpc_id" {
  value = one(aws_vpc.default[*].id)
}
