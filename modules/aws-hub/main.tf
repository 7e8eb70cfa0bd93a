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

resource "warren_aws_transit_gateway" "hub" {
  name        = var.name
  description = "Spokes of ${var.name}"
  tags        = var.tags
}

resource "warren_aws_transit_gateway_attachment" "hub" {
  name               = var.name
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.hub.id
  subnet_ids         = [warren_aws_subnet.ml.id]
  tags               = var.tags
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

# Access to S3 and ECR without the internet. An image pull needs all three endpoints.

resource "warren_aws_security_group" "endpoints" {
  name        = "${var.name}-endpoints"
  description = "HTTPS from the hub and its spokes to the interface endpoints"
  vpc_id      = warren_aws_vpc.hub.id
  tags        = var.tags

  ingress = [{
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = concat([var.cidr_block], values(var.spoke_cidr_blocks))
    description = "HTTPS to AWS services"
  }]
}

resource "warren_aws_vpc_endpoint" "s3" {
  name            = "${var.name}-s3"
  vpc_id          = warren_aws_vpc.hub.id
  service         = "s3"
  route_table_ids = [warren_aws_route_table.private.id]
  bucket_policy   = { buckets = var.buckets }
  tags            = var.tags
}

resource "warren_aws_vpc_endpoint" "ecr_api" {
  name               = "${var.name}-ecr-api"
  vpc_id             = warren_aws_vpc.hub.id
  service            = "ecr.api"
  subnet_ids         = [warren_aws_subnet.data.id]
  security_group_ids = [warren_aws_security_group.endpoints.id]
  tags               = var.tags
}

resource "warren_aws_vpc_endpoint" "ecr_dkr" {
  name               = "${var.name}-ecr-dkr"
  vpc_id             = warren_aws_vpc.hub.id
  service            = "ecr.dkr"
  subnet_ids         = [warren_aws_subnet.data.id]
  security_group_ids = [warren_aws_security_group.endpoints.id]
  tags               = var.tags

  # Terraform plans the other two endpoints first, so that the plan can check that they exist.
  depends_on = [warren_aws_vpc_endpoint.s3, warren_aws_vpc_endpoint.ecr_api]
}

resource "warren_aws_flow_log" "hub" {
  count = var.flow_log_bucket_arn == null ? 0 : 1

  name            = var.name
  vpc_id          = warren_aws_vpc.hub.id
  destination_arn = var.flow_log_bucket_arn
  tags            = var.tags
}
