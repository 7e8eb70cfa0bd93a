resource "warren_aws_vpc" "spoke" {
  name       = var.name
  cidr_block = var.cidr_block
  tags       = var.tags
}

resource "warren_aws_subnet" "private" {
  for_each = var.subnets

  name              = "${var.name}-${each.key}"
  vpc_id            = warren_aws_vpc.spoke.id
  vpc_cidr_block    = var.cidr_block
  cidr_block        = each.value.cidr_block
  availability_zone = each.value.availability_zone
  tags              = var.tags
}

locals {
  # An attachment has one subnet per Availability Zone: the first one by name.
  subnet_of_zone = { for name, subnet in var.subnets : subnet.availability_zone => name... }
}

resource "warren_aws_transit_gateway_attachment" "spoke" {
  name               = var.name
  transit_gateway_id = var.transit_gateway_id
  vpc_id             = warren_aws_vpc.spoke.id
  subnet_ids         = [for names in values(local.subnet_of_zone) : warren_aws_subnet.private[sort(names)[0]].id]
  tags               = var.tags
}

resource "warren_aws_route_table" "private" {
  name       = "${var.name}-private"
  vpc_id     = warren_aws_vpc.spoke.id
  subnet_ids = [for subnet in warren_aws_subnet.private : subnet.id]
  tags       = var.tags

  routes = [{
    destination_cidr_block = var.hub_cidr_block
    transit_gateway_id     = var.transit_gateway_id
  }]

  depends_on = [warren_aws_transit_gateway_attachment.spoke]
}
