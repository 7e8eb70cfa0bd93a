locals {
  # The partitions of AWS whose services are not below amazonaws.com, by the beginning of their regions.
  partitions = {
    "cn-"      = "amazonaws.com.cn"
    "us-iso-"  = "c2s.ic.gov"
    "us-isob-" = "sc2s.sgov.gov"
    "us-isof-" = "csp.hci.ic.gov"
    "eu-isoe-" = "cloud.adc-e.uk"
    "eusc-"    = "amazonaws.eu"
  }
  partition = [for start in keys(local.partitions) : start if startswith(var.region, start)]
  suffix    = "${var.region}.${try(local.partitions[local.partition[0]], "amazonaws.com")}"

  # The names under which clients look up the services.
  domains = {
    s3      = "s3.${local.suffix}"
    ecr_api = "api.ecr.${local.suffix}"
    ecr_dkr = "dkr.ecr.${local.suffix}"
  }

  # ECR answers with the location of the layers, which are objects in a bucket of AWS.
  layers = "prod-${var.region}-starport-layer-bucket.${local.domains.s3}"

  # Where clients find the services: addresses of interface endpoints, or the ranges of the gateway endpoint.
  s3_prefixes  = sort(var.shared ? warren_aws_vpc_endpoint.s3_interface[0].cidr_blocks : warren_aws_vpc_endpoint.s3.cidr_blocks)
  outside      = var.shared ? tolist([]) : local.s3_prefixes
  ecr_prefixes = sort(setunion(warren_aws_vpc_endpoint.ecr_api.cidr_blocks, warren_aws_vpc_endpoint.ecr_dkr.cidr_blocks))
}

resource "warren_aws_security_group" "endpoints" {
  name        = "${var.name}-endpoints"
  description = "HTTPS to the interface endpoints"
  vpc_id      = var.vpc_id
  tags        = var.tags

  ingress = [{
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = var.client_cidr_blocks
    description = "HTTPS to AWS services"
  }]
}

# The gateway endpoint serves the route tables of its own VPC only.

resource "warren_aws_vpc_endpoint" "s3" {
  name            = "${var.name}-s3"
  vpc_id          = var.vpc_id
  service         = "s3"
  route_table_ids = var.route_table_ids
  bucket_policy   = { buckets = var.buckets }
  tags            = var.tags
}

resource "warren_aws_vpc_endpoint" "s3_interface" {
  count = var.shared ? 1 : 0

  name                = "${var.name}-s3-interface"
  vpc_id              = var.vpc_id
  service             = "s3"
  type                = "Interface"
  subnet_ids          = var.subnet_ids
  security_group_ids  = [warren_aws_security_group.endpoints.id]
  private_dns_enabled = false
  bucket_policy       = { buckets = var.buckets }
  tags                = var.tags
}

resource "warren_aws_vpc_endpoint" "ecr_api" {
  name                = "${var.name}-ecr-api"
  vpc_id              = var.vpc_id
  service             = "ecr.api"
  subnet_ids          = var.subnet_ids
  security_group_ids  = [warren_aws_security_group.endpoints.id]
  private_dns_enabled = !var.shared
  tags                = var.tags

  depends_on = [warren_aws_route53_zone.service]
}

resource "warren_aws_vpc_endpoint" "ecr_dkr" {
  name                = "${var.name}-ecr-dkr"
  vpc_id              = var.vpc_id
  service             = "ecr.dkr"
  subnet_ids          = var.subnet_ids
  security_group_ids  = [warren_aws_security_group.endpoints.id]
  private_dns_enabled = !var.shared
  tags                = var.tags

  # Terraform plans everything that an image pull needs first, so that the plan can check that it exists.
  depends_on = [warren_aws_vpc_endpoint.s3, warren_aws_vpc_endpoint.ecr_api, warren_aws_route53_zone.service]
}

# The private DNS names of an endpoint resolve in its own VPC only. A private hosted zone can be associated with every VPC.

resource "warren_aws_route53_zone" "service" {
  for_each = var.shared ? local.domains : {}

  name        = "${var.name}-${replace(each.key, "_", "-")}"
  domain_name = each.value
  vpcs        = [{ vpc_id = var.vpc_id }]
  comment     = "Interface endpoint of ${var.name}"
  tags        = var.tags
}

# Buckets and registries are hostnames below the names of the services.

resource "warren_aws_route53_record" "s3" {
  for_each = var.shared ? { service = local.domains.s3, buckets = "*.${local.domains.s3}" } : {}

  zone_id = warren_aws_route53_zone.service["s3"].id
  name    = each.value
  type    = "A"

  alias = {
    dns_name               = warren_aws_vpc_endpoint.s3_interface[0].dns_entries[0].dns_name
    zone_id                = warren_aws_vpc_endpoint.s3_interface[0].dns_entries[0].hosted_zone_id
    evaluate_target_health = false
  }
}

resource "warren_aws_route53_record" "ecr_api" {
  for_each = var.shared ? { service = local.domains.ecr_api } : {}

  zone_id = warren_aws_route53_zone.service["ecr_api"].id
  name    = each.value
  type    = "A"

  alias = {
    dns_name               = warren_aws_vpc_endpoint.ecr_api.dns_entries[0].dns_name
    zone_id                = warren_aws_vpc_endpoint.ecr_api.dns_entries[0].hosted_zone_id
    evaluate_target_health = false
  }
}

resource "warren_aws_route53_record" "ecr_dkr" {
  for_each = var.shared ? { service = local.domains.ecr_dkr, registries = "*.${local.domains.ecr_dkr}" } : {}

  zone_id = warren_aws_route53_zone.service["ecr_dkr"].id
  name    = each.value
  type    = "A"

  alias = {
    dns_name               = warren_aws_vpc_endpoint.ecr_dkr.dns_entries[0].dns_name
    zone_id                = warren_aws_vpc_endpoint.ecr_dkr.dns_entries[0].hosted_zone_id
    evaluate_target_health = false
  }
}
