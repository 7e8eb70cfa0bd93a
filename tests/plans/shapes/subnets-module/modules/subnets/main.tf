variable "vpc_id" { type = string }
variable "cidrs" { type = map(string) }

locals {
  e      = length(var.cidrs) > 0
  vpc_id = var.vpc_id
}

resource "aws_subnet" "private" {
  for_each   = local.e ? var.cidrs : {}
  vpc_id     = local.vpc_id
  cidr_block = each.value
}

resource "aws_route_table" "private" {
  vpc_id = local.vpc_id
}

resource "aws_route_table_association" "private" {
  for_each       = aws_subnet.private
  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}
