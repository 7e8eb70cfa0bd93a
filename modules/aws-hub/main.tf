resource "warren_aws_vpc" "hub" {
  name       = var.name
  cidr_block = var.cidr_block
  tags       = var.tags
}

resource "warren_aws_subnet" "public" {
  name              = "${var.name}-public"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = var.cidr_block
  cidr_block        = var.public_cidr_block
  availability_zone = var.availability_zone
  tags              = var.tags
}

resource "warren_aws_subnet" "data" {
  name              = "${var.name}-data"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = var.cidr_block
  cidr_block        = var.data_cidr_block
  availability_zone = var.availability_zone
  tags              = var.tags
}

resource "warren_aws_subnet" "ml" {
  name              = "${var.name}-ml"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = var.cidr_block
  cidr_block        = var.ml_cidr_block
  availability_zone = var.availability_zone
  tags              = var.tags
}

# Outbound internet access. Only the public subnet has a route to the internet gateway.

resource "warren_aws_internet_gateway" "hub" {
  name   = var.name
  vpc_id = warren_aws_vpc.hub.id
  tags   = var.tags
}

resource "warren_aws_nat_gateway" "hub" {
  name      = var.name
  subnet_id = warren_aws_subnet.public.id
  tags      = var.tags

  depends_on = [warren_aws_internet_gateway.hub]
}

# Attachments of spokes use one route table, and the attachment of the hub another one. Nothing uses the default route
# table, in which every VPC reaches every other VPC.

resource "warren_aws_transit_gateway" "hub" {
  name                            = var.name
  description                     = "Spokes of ${var.name}"
  default_route_table_association = false
  default_route_table_propagation = false
  tags                            = var.tags
}

resource "warren_aws_transit_gateway_attachment" "hub" {
  name                                            = var.name
  transit_gateway_id                              = warren_aws_transit_gateway.hub.id
  vpc_id                                          = warren_aws_vpc.hub.id
  subnet_ids                                      = [warren_aws_subnet.ml.id]
  transit_gateway_default_route_table_association = false
  transit_gateway_default_route_table_propagation = false
  tags                                            = var.tags
}

resource "warren_aws_transit_gateway_route_table" "hub" {
  name               = "${var.name}-hub"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  tags               = var.tags
}

resource "warren_aws_transit_gateway_route_table" "spokes" {
  name               = "${var.name}-spokes"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  tags               = var.tags
}

# From the hub: to each spoke, which propagates its range to this table.

resource "warren_aws_transit_gateway_route_table_association" "hub" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.hub.id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.hub.id
}

# From a spoke: to the hub, and through its NAT gateway to the internet.

resource "warren_aws_transit_gateway_route" "to_hub" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.spokes.id
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.hub.id
}

# Without these routes, traffic from one spoke to another would go to the hub, whose route tables send it back to the
# transit gateway and to the other spoke.

resource "warren_aws_transit_gateway_route" "between_spokes" {
  for_each = var.isolate_spokes ? var.spoke_cidr_blocks : {}

  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.spokes.id
  destination_cidr_block         = each.value
  blackhole                      = true
}

locals {
  to_spokes = [for cidr in values(var.spoke_cidr_blocks) : {
    destination_cidr_block = cidr
    transit_gateway_id     = warren_aws_transit_gateway.hub.id
  }]
}

resource "warren_aws_route_table" "public" {
  name       = "${var.name}-public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]
  tags       = var.tags

  routes = concat(
    [{ destination_cidr_block = "0.0.0.0/0", gateway_id = warren_aws_internet_gateway.hub.id }],
    local.to_spokes,
  )

  depends_on = [warren_aws_transit_gateway_attachment.hub]
}

resource "warren_aws_route_table" "private" {
  name       = "${var.name}-private"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.data.id, warren_aws_subnet.ml.id]
  tags       = var.tags

  routes = concat(
    [{ destination_cidr_block = "0.0.0.0/0", nat_gateway_id = warren_aws_nat_gateway.hub.id }],
    local.to_spokes,
  )

  depends_on = [warren_aws_transit_gateway_attachment.hub]
}

# Access to S3 and ECR without the internet. Gateways for pods run in the public subnet, so its route table has the
# gateway endpoint, too.

module "endpoints" {
  source = "../aws-endpoints"

  name               = var.name
  region             = regex("^[a-z]+(?:-[a-z]+)+-[0-9]+", var.availability_zone)
  vpc_id             = warren_aws_vpc.hub.id
  route_table_ids    = [warren_aws_route_table.private.id, warren_aws_route_table.public.id]
  subnet_ids         = [warren_aws_subnet.data.id]
  client_cidr_blocks = concat([var.cidr_block], values(var.spoke_cidr_blocks))
  buckets            = var.buckets
  shared             = var.endpoints == "hub"
  tags               = var.tags
}

resource "warren_aws_flow_log" "hub" {
  count = var.flow_log_bucket_arn == null ? 0 : 1

  name            = var.name
  vpc_id          = warren_aws_vpc.hub.id
  destination_arn = var.flow_log_bucket_arn
  tags            = var.tags
}
