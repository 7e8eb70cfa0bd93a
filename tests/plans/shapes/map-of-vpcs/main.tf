# A local value holds several VPCs. Two of them have the same range, so that a range alone does not name one.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "hub" {
  cidr_block = "10.100.0.0/16"
}

resource "aws_vpc" "green" {
  cidr_block = "10.101.0.0/16"
}

resource "aws_vpc" "blue" {
  cidr_block = "10.101.0.0/16"
}

locals {
  vpcs    = { hub = aws_vpc.hub.id, green = aws_vpc.green.id, blue = aws_vpc.blue.id }
  subnets = { hub = "10.100.0.0/24", green = "10.101.0.0/24" }
}

resource "aws_subnet" "main" {
  for_each   = local.subnets
  vpc_id     = local.vpcs[each.key]
  cidr_block = each.value
}
