locals {
  # A gateway in each hub. Its source address for the other gateway is the first address of its part of the overlay.
  addresses = {
    aws = cidrhost(var.aws.overlay_cidr_block, 1)
    gcp = cidrhost(var.gcp.overlay_cidr_block, 1)
  }

  # The ranges behind each gateway: those of the hub, and services outside them, such as Google APIs.
  services = { aws = var.aws.services, gcp = var.gcp.services }
  hubs     = { aws = var.aws.cidr_blocks, gcp = var.gcp.cidr_blocks }
  prefixes = { for site, cidrs in local.hubs : site => concat(cidrs, distinct(flatten([
    for service in local.services[site] : [
      for prefix in coalesce(service.outside, service.prefixes) : prefix
      if !provider::warren::cidr_contains(cidrs, prefix)
    ]
  ]))) }

  # Each gateway answers for the names of both clouds. It queries the resolver of its own network, and the other gateway.
  domains   = { for site, services in local.services : site => distinct(flatten([for service in services : service.domains])) }
  resolvers = { aws = var.aws.resolver, gcp = var.gcp.resolver }
  zones = { for here, there in { aws = "gcp", gcp = "aws" } : here => [
    for zone in [
      { domains = local.domains[here], resolvers = [local.resolvers[here]] },
      { domains = local.domains[there], resolvers = [local.addresses[there]] },
    ] : zone if length(zone.domains) > 0
  ] }

  gateways = { aws = one(module.aws.gateways), gcp = one(module.gcp.gateways) }

  # Each gateway is a peer of the other one.
  peers = { for site, gateway in local.gateways : site => {
    name      = site
    key       = gateway.key
    endpoint  = gateway.udp
    addresses = [local.addresses[site]]
    prefixes  = local.prefixes[site]
    group     = "site-${site}"
  } }

  # Traffic from the other site may reach the ranges of this one if `between` allows it. Its gateway may look up names.
  groups = { for here, there in { aws = "gcp", gcp = "aws" } : here => merge({
    for name, group in var.groups : name => merge(group, {
      grants = [for grant in group.grants : grant if startswith(grant.objects, here == "aws" ? "s3://" : "gs://")]
    })
    }, {
    "site-${there}" = {
      allow = concat(
        [for rule in var.between : merge(rule, { to = local.prefixes[here] })],
        [for domains in [local.domains[here]] : { to = ["${local.addresses[here]}/32"], ports = ["53"], protocols = ["udp", "tcp"] } if length(domains) > 0],
      )
    }
  }) }
}

module "aws" {
  source = "../wireguard-gateway/aws"

  name              = var.name
  fabric            = var.fabric
  vpc_id            = var.aws.vpc_id
  vpc_cidr_blocks   = var.aws.cidr_blocks
  image_id          = var.aws.image_id
  instance_type     = var.aws.instance_type
  kms_key_arn       = var.aws.kms_key_arn
  release           = var.release
  planned_rate_mbit = var.planned_rate_mbit
  congestion        = var.congestion
  token_keys        = var.token_keys
  key_rotation      = var.key_rotation
  groups            = local.groups.aws
  pod_role_arn      = var.aws.pod_role_arn
  tests             = var.tests
  services          = merge(var.aws.services, var.gcp.services)
  dns               = { zones = local.zones.aws }
  tags              = var.labels

  gateways       = { aws = { subnet_id = var.aws.subnet_id, overlay_cidr_blocks = [var.aws.overlay_cidr_block] } }
  other_gateways = module.gcp.gateways
  sites          = { aws = { addresses = [local.addresses.aws], peers = [local.peers.gcp] } }
}

module "gcp" {
  source = "../wireguard-gateway/google"

  name                 = var.name
  fabric               = var.fabric
  network              = var.gcp.network
  network_cidr_blocks  = var.gcp.cidr_blocks
  internet_route       = var.gcp.internet_route
  image                = var.gcp.image
  machine_type         = var.gcp.machine_type
  region               = var.gcp.region
  secrets_kms_key_name = var.gcp.secrets_kms_key_name
  disk_kms_key_name    = var.gcp.disk_kms_key_name
  release              = var.release
  planned_rate_mbit    = var.planned_rate_mbit
  congestion           = var.congestion
  token_keys           = var.token_keys
  key_rotation         = var.key_rotation
  groups               = local.groups.gcp
  tests                = var.tests
  services             = merge(var.aws.services, var.gcp.services)
  dns                  = { zones = local.zones.gcp }
  labels               = var.labels

  gateways = { gcp = {
    zone                = var.gcp.zone
    subnetwork          = var.gcp.subnetwork
    overlay_cidr_blocks = [var.gcp.overlay_cidr_block]
  } }
  other_gateways = module.aws.gateways
  sites          = { gcp = { addresses = [local.addresses.gcp], peers = [local.peers.aws] } }
}
