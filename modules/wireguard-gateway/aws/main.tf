locals {
  # Null if there are none, so that the files of gateways without grants stay as they are.
  all_grants = flatten([for name, group in var.groups : [for grant in group.grants : merge(grant, { group = name })]])
  grants     = length(local.all_grants) > 0 ? local.all_grants : null

  parameters = { for key in keys(var.gateways) : key => "/warren/${var.fabric}/${var.name}-${key}" }

  log_group = var.log_group_arn == null ? null : split(":", var.log_group_arn)[6]

  # The gateways as peers address them.
  gateways = [for key in keys(var.gateways) : {
    name = "${var.name}-${key}"
    key  = warren_aws_wireguard_key.gateway[key].public_key
    udp  = "${warren_aws_elastic_ip.gateway[key].public_ip}:51820"
    tls  = "${warren_aws_elastic_ip.gateway[key].public_ip}:443"
    pins = compact([
      warren_aws_tls_key.gateway[key].public_key,
      warren_aws_tls_key.gateway[key].previous_public_key,
    ])
  }]
}

# Keys, configuration, address and role outlive the instance.

resource "warren_aws_wireguard_key" "gateway" {
  for_each = var.gateways

  name       = "${local.parameters[each.key]}/wireguard"
  rotation   = var.key_rotation
  kms_key_id = var.kms_key_arn
  tags       = var.tags
}

resource "warren_aws_tls_key" "gateway" {
  for_each = var.gateways

  name       = "${local.parameters[each.key]}/tls"
  rotation   = var.key_rotation
  kms_key_id = var.kms_key_arn
  tags       = var.tags
}

resource "warren_aws_elastic_ip" "gateway" {
  for_each = var.gateways

  name = "${var.name}-${each.key}"
  tags = var.tags
}

resource "warren_aws_gateway_config" "gateway" {
  for_each = var.gateways

  name = "${local.parameters[each.key]}/config"
  tags = var.tags

  grants       = local.grants
  pod_role_arn = var.pod_role_arn

  content = templatefile("${path.module}/../gateway.toml.tftpl", {
    fabric              = var.fabric
    name                = "${var.name}-${each.key}"
    planned_rate_mbit   = var.planned_rate_mbit
    congestion          = var.congestion
    token_keys          = var.token_keys
    retired_token_keys  = var.retired_token_keys
    overlay_cidr_blocks = each.value.overlay_cidr_blocks
    dns                 = var.dns
    mtu                 = null
    gateways            = concat(local.gateways, var.other_gateways)
    site                = lookup(var.sites, each.key, null)
    groups              = var.groups
    services            = var.services
    tests               = var.tests
  })
}

resource "warren_aws_gateway_role" "gateway" {
  for_each = var.gateways

  name         = "${var.name}-${each.key}"
  parameters   = [for part in ["config", "tls", "wireguard"] : "${local.parameters[each.key]}/${part}"]
  kms_key_arns = var.kms_key_arn == null ? null : [var.kms_key_arn]
  tags         = var.tags

  session_manager = var.session_manager
  log_group_arn   = var.log_group_arn

  pod_role_arn      = var.pod_role_arn
  attach_volumes_of = var.recovery ? "${var.name}-${each.key}" : null
}

# The internet can reach only the ports of the tunnel.

resource "warren_aws_security_group" "gateway" {
  name                 = "${var.name}-gateway"
  description          = "The tunnel from everywhere, all from the hub"
  vpc_id               = var.vpc_id
  allow_public_ingress = true
  tags                 = var.tags

  ingress = concat(
    [
      { protocol = "udp", from_port = 51820, to_port = 51820, cidr_blocks = ["0.0.0.0/0"], description = "WireGuard" },
      { protocol = "tcp", from_port = 443, to_port = 443, cidr_blocks = ["0.0.0.0/0"], description = "Enrolment, WireGuard over TLS" },
      { protocol = "-1", cidr_blocks = var.vpc_cidr_blocks, description = "To peers" },
    ],
    length(var.ssh_cidr_blocks) == 0 ? [] : [
      { protocol = "tcp", from_port = 22, to_port = 22, cidr_blocks = var.ssh_cidr_blocks, description = "SSH" },
    ],
  )
  egress = [{ protocol = "-1", cidr_blocks = ["0.0.0.0/0"], description = "To everywhere" }]
}

resource "warren_aws_gateway" "gateway" {
  for_each = var.recovery ? {} : var.gateways

  name                 = "${var.name}-${each.key}"
  image_id             = var.image_id
  instance_type        = var.instance_type
  subnet_id            = each.value.subnet_id
  security_group_ids   = [warren_aws_security_group.gateway.id]
  instance_profile_arn = warren_aws_gateway_role.gateway[each.key].instance_profile_arn
  allocation_id        = warren_aws_elastic_ip.gateway[each.key].id
  kms_key_id           = var.kms_key_arn
  release              = var.release
  key_name             = var.key_name
  log_group            = local.log_group
  tags                 = var.tags

  # Names are known at plan time, and so is the boot script.
  config        = warren_aws_gateway_config.gateway[each.key].name
  wireguard_key = warren_aws_wireguard_key.gateway[each.key].name
  tls_key       = warren_aws_tls_key.gateway[each.key].name
}

# With recovery, the interface and the leases outlive the instance, too.

resource "warren_aws_gateway_group" "gateway" {
  for_each = var.recovery ? var.gateways : {}

  name                 = "${var.name}-${each.key}"
  image_id             = var.image_id
  instance_type        = var.instance_type
  subnet_id            = each.value.subnet_id
  security_group_ids   = [warren_aws_security_group.gateway.id]
  instance_profile_arn = warren_aws_gateway_role.gateway[each.key].instance_profile_arn
  allocation_id        = warren_aws_elastic_ip.gateway[each.key].id
  release              = var.release
  key_name             = var.key_name
  log_group            = local.log_group
  tags                 = var.tags

  # Names are known at plan time, and so is the boot script.
  config        = warren_aws_gateway_config.gateway[each.key].name
  wireguard_key = warren_aws_wireguard_key.gateway[each.key].name
  tls_key       = warren_aws_tls_key.gateway[each.key].name
}
