variable "vpc_id" {
  type    = string
  default = null
}
variable "cidr" { type = string }
variable "subnets" { type = map(string) }

locals {
  create = var.vpc_id == null
  vpc    = local.create ? aws_vpc.main[0] : data.aws_vpc.main[0]
}

data "aws_vpc" "main" {
  count = local.create ? 0 : 1
  id    = var.vpc_id
}

resource "aws_vpc" "main" {
  count      = local.create ? 1 : 0
  cidr_block = var.cidr
}

resource "aws_subnet" "private" {
  for_each   = var.subnets
  vpc_id     = local.vpc.id
  cidr_block = each.value
  tags       = { Name = each.key }
}
