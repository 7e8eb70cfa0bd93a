locals {
  # Null if there are none, so that the files of gateways without grants stay as they are.
  all_grants = flatten([for name, group in var.groups : [for grant in group.grants : merge(grant, { group = name })]])
  grants     = length(local.all_grants) > 0 ? local.all_grants : null

  names   = { for key in keys(var.gateways) : key => "${var.name}-${key}" }
  secrets = { for key, name in local.names : key => "warren-${var.fabric}-${name}" }

  # Network tag of the gateways, for firewall rules and routes.
  tag = "${var.name}-gateway"

  # The gateways as peers address them.
  gateways = [for key in keys(var.gateways) : {
    name = local.names[key]
    key  = warren_gcp_wireguard_key.gateway[key].public_key
    udp  = "${warren_gcp_address.gateway[key].address}:51820"
    tls  = "${warren_gcp_address.gateway[key].address}:443"
    pins = compact([
      warren_gcp_tls_key.gateway[key].public_key,
      warren_gcp_tls_key.gateway[key].previous_public_key,
    ])
  }]

  # A route for each range that is reached through a gateway: of the overlay, and behind other sites.
  routes = merge([for key, gateway in var.gateways : {
    for cidr in concat(gateway.overlay_cidr_blocks, flatten(try(var.sites[key].peers[*].prefixes, []))) :
    "${local.names[key]}-${replace(replace(cidr, ".", "-"), "/", "-")}" => { gateway = key, cidr = cidr }
  }]...)
}

# Keys, configuration, address and service account outlive the VM.

resource "warren_gcp_wireguard_key" "gateway" {
  for_each = var.gateways

  name     = "${local.secrets[each.key]}-wireguard"
  rotation = var.key_rotation
  labels   = var.labels

  kms_key_name      = var.secrets_kms_key_name
  replica_locations = var.secrets_replica_locations
}

resource "warren_gcp_tls_key" "gateway" {
  for_each = var.gateways

  name     = "${local.secrets[each.key]}-tls"
  rotation = var.key_rotation
  labels   = var.labels

  kms_key_name      = var.secrets_kms_key_name
  replica_locations = var.secrets_replica_locations
}

resource "warren_gcp_address" "gateway" {
  for_each = var.gateways

  name   = local.names[each.key]
  region = var.region
}

resource "warren_gcp_gateway_config" "gateway" {
  for_each = var.gateways

  name   = "${local.secrets[each.key]}-config"
  labels = var.labels

  replica_locations = var.secrets_replica_locations
  grants            = local.grants

  content = templatefile("${path.module}/../gateway.toml.tftpl", {
    fabric              = var.fabric
    name                = local.names[each.key]
    planned_rate_mbit   = var.planned_rate_mbit
    congestion          = var.congestion
    token_keys          = var.token_keys
    retired_token_keys  = var.retired_token_keys
    overlay_cidr_blocks = each.value.overlay_cidr_blocks
    dns                 = var.dns
    mtu                 = 1380 # The path of Compute Engine has an MTU of 1460 bytes, and the tunnel adds 80 at most.
    gateways            = concat(local.gateways, var.other_gateways)
    site                = lookup(var.sites, each.key, null)
    groups              = var.groups
    services            = var.services
    tests               = var.tests
  })
}

resource "warren_gcp_gateway_service_account" "gateway" {
  for_each = var.gateways

  name = "warren-${local.names[each.key]}"
  secrets = [
    warren_gcp_gateway_config.gateway[each.key].id,
    warren_gcp_tls_key.gateway[each.key].id,
    warren_gcp_wireguard_key.gateway[each.key].id,
  ]
}

# The internet can reach only the ports of the tunnel. All other traffic of the gateways is open: the groups restrict
# what peers may reach.

resource "warren_gcp_firewall" "tunnel" {
  name          = "${var.name}-tunnel"
  description   = "Tunnel from the internet"
  network       = var.network
  source_ranges = ["0.0.0.0/0"]
  target_tags   = [local.tag]
  allow         = [{ protocol = "udp", ports = ["51820"] }, { protocol = "tcp", ports = ["443"] }]
}

resource "warren_gcp_firewall" "peers" {
  name          = "${var.name}-peers"
  description   = "Traffic from the network to peers"
  network       = var.network
  source_ranges = var.network_cidr_blocks
  target_tags   = [local.tag]
  allow         = [{ protocol = "all" }]
}

resource "warren_gcp_firewall" "egress" {
  name               = "${var.name}-egress"
  description        = "All egress of the gateways"
  network            = var.network
  direction          = "EGRESS"
  destination_ranges = ["0.0.0.0/0"]
  target_tags        = [local.tag]
  allow              = [{ protocol = "all" }]
}

# The addresses of Identity-Aware Proxy, which authenticates users before it forwards their SSH sessions.

resource "warren_gcp_firewall" "ssh" {
  count = var.ssh_through_iap ? 1 : 0

  name          = "${var.name}-ssh"
  description   = "SSH through Identity-Aware Proxy"
  network       = var.network
  source_ranges = ["35.235.240.0/20"]
  target_tags   = [local.tag]
  allow         = [{ protocol = "tcp", ports = ["22"] }]
}

# A route to the internet for the gateways only, which have the tag.

resource "warren_gcp_route" "internet" {
  count = var.internet_route ? 1 : 0

  name             = "${var.name}-internet"
  network          = var.network
  dest_range       = "0.0.0.0/0"
  next_hop_gateway = "default-internet-gateway"
  tags             = [local.tag]
}

resource "warren_gcp_gateway" "gateway" {
  for_each = var.recovery ? {} : var.gateways

  name            = local.names[each.key]
  zone            = each.value.zone
  subnetwork      = each.value.subnetwork
  image           = var.image
  machine_type    = var.machine_type
  tags            = [local.tag]
  nat_ip          = warren_gcp_address.gateway[each.key].address
  service_account = warren_gcp_gateway_service_account.gateway[each.key].email
  kms_key_name    = var.disk_kms_key_name
  release         = var.release
  cloud_logging   = var.cloud_logging
  labels          = var.labels

  # Names are known at plan time, and so is the startup script.
  config        = warren_gcp_gateway_config.gateway[each.key].id
  wireguard_key = warren_gcp_wireguard_key.gateway[each.key].id
  tls_key       = warren_gcp_tls_key.gateway[each.key].id
}

# With recovery, the internal address and the leases outlive the VM, too.

resource "warren_gcp_gateway_group" "gateway" {
  for_each = var.recovery ? var.gateways : {}

  name            = local.names[each.key]
  zone            = each.value.zone
  subnetwork      = each.value.subnetwork
  image           = var.image
  machine_type    = var.machine_type
  tags            = [local.tag]
  address         = warren_gcp_address.gateway[each.key].id
  service_account = warren_gcp_gateway_service_account.gateway[each.key].email
  kms_key_name    = var.disk_kms_key_name
  release         = var.release
  cloud_logging   = var.cloud_logging
  labels          = var.labels

  # Names are known at plan time, and so is the startup script.
  config        = warren_gcp_gateway_config.gateway[each.key].id
  wireguard_key = warren_gcp_wireguard_key.gateway[each.key].id
  tls_key       = warren_gcp_tls_key.gateway[each.key].id
}

# A VM that was recreated has its internal address again.

resource "warren_gcp_route" "overlay" {
  for_each = local.routes

  name              = each.key
  network           = var.network
  dest_range        = each.value.cidr
  next_hop_instance = var.recovery ? null : warren_gcp_gateway.gateway[each.value.gateway].id
  next_hop_ip       = var.recovery ? warren_gcp_gateway_group.gateway[each.value.gateway].network_ip : null
}
