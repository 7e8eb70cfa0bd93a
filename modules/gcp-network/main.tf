locals {
  google_apis = coalesce(var.google_apis, var.google_apis_address == null ? "private" : "psc")

  # The addresses of private.googleapis.com and restricted.googleapis.com: the next hop is the default internet gateway,
  # but the traffic stays in Google's network.
  virtual_ips = { private = "199.36.153.8/30", restricted = "199.36.153.4/30" }
  virtual_ip  = lookup(local.virtual_ips, local.google_apis, null)
  ranges      = local.virtual_ip == null ? formatlist("%s/32", local.addresses) : [local.virtual_ip]
  addresses   = local.virtual_ip == null ? compact([var.google_apis_address]) : [for host in range(4) : cidrhost(local.virtual_ip, host)]

  # All names of a domain lead to one name with the addresses.
  restricted = local.google_apis == "restricted" || local.google_apis == "psc" && var.google_apis_bundle == "vpc-sc"
  names = merge(
    { "googleapis.com" = local.restricted ? "restricted.googleapis.com." : "private.googleapis.com." },
    { for domain in var.google_apis_domains : domain => "${domain}." },
  )

  service = { prefixes = local.ranges, ports = ["443"], protocols = ["tcp"] }
}

resource "warren_gcp_network" "main" {
  name                  = var.name
  description           = var.description
  mtu                   = 1460 # the MTU of the path between Google Cloud and the internet
  delete_default_routes = true

  lifecycle {
    precondition {
      condition     = (local.google_apis == "psc") == (var.google_apis_address != null)
      error_message = "Set google_apis_address with google_apis = \"psc\", and only then."
    }
  }
}

resource "warren_gcp_subnetwork" "private" {
  for_each = var.subnetworks

  name                = "${var.name}-${each.key}"
  network             = warren_gcp_network.main.id
  region              = var.region
  ip_cidr_range       = each.value.ip_cidr_range
  secondary_ip_ranges = each.value.secondary_ip_ranges
  flow_logs           = var.flow_logs ? {} : null
}

resource "warren_gcp_route" "google_apis" {
  count = local.virtual_ip == null ? 0 : 1

  name             = "${var.name}-google-apis"
  network          = warren_gcp_network.main.id
  description      = "${local.google_apis}.googleapis.com"
  dest_range       = local.virtual_ip
  next_hop_gateway = "default-internet-gateway"
}

# Clients find Google APIs by name, so each domain has a private zone that leads all its names to the addresses.

resource "warren_gcp_dns_zone" "google_apis" {
  for_each = local.names

  name        = "${var.name}-${replace(each.key, ".", "-")}"
  dns_name    = "${each.key}."
  description = "Google APIs: ${local.google_apis}"
  networks    = [warren_gcp_network.main.id]
}

resource "warren_gcp_dns_record_set" "google_apis" {
  for_each = local.names

  zone    = warren_gcp_dns_zone.google_apis[each.key].id
  name    = each.value
  type    = "A"
  ttl     = 300
  rrdatas = local.addresses
}

resource "warren_gcp_dns_record_set" "google_apis_wildcard" {
  for_each = local.names

  zone    = warren_gcp_dns_zone.google_apis[each.key].id
  name    = "*.${each.key}."
  type    = "CNAME"
  ttl     = 300
  rrdatas = [each.value]
}

# Cloud NAT serves VMs of its own network only, and needs a default route in that network.

resource "warren_gcp_route" "internet" {
  count = var.nat ? 1 : 0

  name             = "${var.name}-internet"
  network          = warren_gcp_network.main.id
  dest_range       = "0.0.0.0/0"
  next_hop_gateway = "default-internet-gateway"
}

resource "warren_gcp_router_nat" "main" {
  count = var.nat ? 1 : 0

  name       = "${var.name}-nat"
  network    = warren_gcp_network.main.id
  region     = var.region
  log_filter = "ERRORS_ONLY"
}

resource "warren_gcp_private_service_connect" "google_apis" {
  count = local.google_apis == "psc" ? 1 : 0

  name    = substr(replace(var.name, "-", ""), 0, 20)
  network = warren_gcp_network.main.id
  address = var.google_apis_address
  bundle  = var.google_apis_bundle
}

# The baseline denies all traffic that the rules above it do not allow.

resource "warren_gcp_firewall" "deny_ingress" {
  name          = "${var.name}-deny-ingress"
  network       = warren_gcp_network.main.id
  description   = "Baseline: deny all ingress"
  priority      = 65534
  deny          = [{ protocol = "all" }]
  source_ranges = ["0.0.0.0/0"]
  log_metadata  = "EXCLUDE_ALL_METADATA"
}

resource "warren_gcp_firewall" "deny_egress" {
  name               = "${var.name}-deny-egress"
  network            = warren_gcp_network.main.id
  description        = "Baseline: deny all egress"
  direction          = "EGRESS"
  priority           = 65534
  deny               = [{ protocol = "all" }]
  destination_ranges = ["0.0.0.0/0"]
  log_metadata       = "EXCLUDE_ALL_METADATA"
}

resource "warren_gcp_firewall" "allow_internal" {
  name          = "${var.name}-allow-internal"
  network       = warren_gcp_network.main.id
  description   = "Ingress from the network and its peers"
  allow         = [{ protocol = "tcp" }, { protocol = "udp" }, { protocol = "icmp" }]
  source_ranges = var.internal_cidr_blocks
}

resource "warren_gcp_firewall" "allow_egress_internal" {
  name               = "${var.name}-allow-egress-internal"
  network            = warren_gcp_network.main.id
  description        = "Egress to the network, its peers and Google APIs"
  direction          = "EGRESS"
  allow              = [{ protocol = "all" }]
  destination_ranges = concat(tolist(var.internal_cidr_blocks), local.ranges)
}

resource "warren_gcp_firewall" "allow_egress_web" {
  count = var.nat ? 1 : 0

  name               = "${var.name}-allow-egress-web"
  network            = warren_gcp_network.main.id
  description        = "HTTP and HTTPS through Cloud NAT"
  direction          = "EGRESS"
  allow              = [{ protocol = "tcp", ports = ["80", "443"] }]
  destination_ranges = ["0.0.0.0/0"]
}
