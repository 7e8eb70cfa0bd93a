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
  # Attachments and interface endpoints have one subnet per Availability Zone: the first one by name.
  subnets_by_zone = { for name, subnet in var.subnets : subnet.availability_zone => name... }
  first_subnets   = [for names in values(local.subnets_by_zone) : sort(names)[0]]
}

resource "warren_aws_transit_gateway_attachment" "spoke" {
  name                                            = var.name
  transit_gateway_id                              = var.transit_gateway_id
  vpc_id                                          = warren_aws_vpc.spoke.id
  subnet_ids                                      = [for name in local.first_subnets : warren_aws_subnet.private[name].id]
  transit_gateway_default_route_table_association = false
  transit_gateway_default_route_table_propagation = false
  tags                                            = var.tags
}

resource "warren_aws_transit_gateway_route_table_association" "spoke" {
  transit_gateway_route_table_id = var.spoke_route_table_id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id
}

resource "warren_aws_transit_gateway_route_table_propagation" "hub" {
  transit_gateway_route_table_id = var.hub_route_table_id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id
}

resource "warren_aws_transit_gateway_route_table_propagation" "spokes" {
  count = var.isolated ? 0 : 1

  transit_gateway_route_table_id = var.spoke_route_table_id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id
}

resource "warren_aws_route_table" "private" {
  name       = "${var.name}-private"
  vpc_id     = warren_aws_vpc.spoke.id
  subnet_ids = [for subnet in warren_aws_subnet.private : subnet.id]
  tags       = var.tags

  routes = [{
    destination_cidr_block = var.internet ? "0.0.0.0/0" : var.hub_cidr_block
    transit_gateway_id     = var.transit_gateway_id
  }]

  depends_on = [warren_aws_transit_gateway_attachment.spoke]
}

# Access to S3 and ECR: through the endpoints of the hub, whose names these zones resolve, or through its own.

resource "warren_aws_route53_zone_association" "hub" {
  for_each = var.zone_ids

  zone_id = each.value
  vpc_id  = warren_aws_vpc.spoke.id
}

module "endpoints" {
  source = "../aws-endpoints"
  count  = var.buckets == null ? 0 : 1

  name               = var.name
  region             = regex("^[a-z]+(?:-[a-z]+)+-[0-9]+", values(var.subnets)[0].availability_zone)
  vpc_id             = warren_aws_vpc.spoke.id
  route_table_ids    = [warren_aws_route_table.private.id]
  subnet_ids         = [for name in local.first_subnets : warren_aws_subnet.private[name].id]
  client_cidr_blocks = [var.cidr_block]
  buckets            = var.buckets
  tags               = var.tags
}
