variable "name" { type = string }
variable "create" {
  type    = bool
  default = true
}
variable "cidr" { type = string }
variable "secondary" {
  type    = list(string)
  default = []
}
variable "zones" { type = list(string) }
variable "public_subnets" { type = list(string) }
variable "private_subnets" { type = list(string) }

locals {
  # Subnets wait for the secondary ranges.
  vpc_id = try(aws_vpc_ipv4_cidr_block_association.this[0].vpc_id, aws_vpc.this[0].id, "")
}

resource "aws_vpc" "this" {
  count = var.create ? 1 : 0

  cidr_block           = var.cidr
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_vpc_ipv4_cidr_block_association" "this" {
  count = var.create ? length(var.secondary) : 0

  vpc_id     = aws_vpc.this[0].id
  cidr_block = element(var.secondary, count.index)
}

resource "aws_subnet" "public" {
  count = length(var.public_subnets)

  vpc_id                  = local.vpc_id
  cidr_block              = element(concat(var.public_subnets, [""]), count.index)
  availability_zone       = element(var.zones, count.index)
  map_public_ip_on_launch = true
  tags                    = { Name = format("${var.name}-public-%s", element(var.zones, count.index)) }
}

resource "aws_subnet" "private" {
  count = length(var.private_subnets)

  vpc_id            = local.vpc_id
  cidr_block        = var.private_subnets[count.index]
  availability_zone = element(var.zones, count.index)
  tags              = { Name = format("${var.name}-private-%s", element(var.zones, count.index)) }
}

resource "aws_internet_gateway" "this" {
  count = length(var.public_subnets) > 0 ? 1 : 0

  vpc_id = local.vpc_id
  tags   = { Name = var.name }
}

resource "aws_eip" "nat" {
  count  = 1
  domain = "vpc"
}

resource "aws_nat_gateway" "this" {
  count = 1

  allocation_id = element(aws_eip.nat[*].id, count.index)
  subnet_id     = element(aws_subnet.public[*].id, count.index)
  tags          = { Name = var.name }

  depends_on = [aws_internet_gateway.this]
}

resource "aws_route_table" "public" {
  count = 1

  vpc_id = local.vpc_id
  tags   = { Name = "${var.name}-public" }
}

resource "aws_route_table" "private" {
  count = 1

  vpc_id = local.vpc_id
  tags   = { Name = "${var.name}-private" }
}

resource "aws_route" "public_internet" {
  count = 1

  route_table_id         = aws_route_table.public[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this[0].id
}

resource "aws_route" "private_nat" {
  count = 1

  route_table_id         = element(aws_route_table.private[*].id, count.index)
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = element(aws_nat_gateway.this[*].id, count.index)
}

resource "aws_route_table_association" "public" {
  count = length(var.public_subnets)

  subnet_id      = element(aws_subnet.public[*].id, count.index)
  route_table_id = element(aws_route_table.public[*].id, 0)
}

resource "aws_route_table_association" "private" {
  count = length(var.private_subnets)

  subnet_id      = element(aws_subnet.private[*].id, count.index)
  route_table_id = element(aws_route_table.private[*].id, 0)
}

output "vpc_id" {
  value = try(aws_vpc.this[0].id, null)
}

output "private_subnets" {
  value = aws_subnet.private[*].id
}
