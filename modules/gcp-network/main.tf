locals {
  # private.googleapis.com: the next hop is the default internet gateway, but the traffic stays in Google's network.
  private_googleapis = "199.36.153.8/30"
  google_apis        = concat([local.private_googleapis], var.google_apis_address == null ? [] : ["${var.google_apis_address}/32"])
}

resource "warren_gcp_network" "main" {
  name                  = var.name
  description           = var.description
  delete_default_routes = true
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
  name             = "${var.name}-google-apis"
  network          = warren_gcp_network.main.id
  description      = "private.googleapis.com"
  dest_range       = local.private_googleapis
  next_hop_gateway = "default-internet-gateway"
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
  count = var.google_apis_address == null ? 0 : 1

  name    = substr(replace(var.name, "-", ""), 0, 20)
  network = warren_gcp_network.main.id
  address = var.google_apis_address
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
  destination_ranges = concat(tolist(var.internal_cidr_blocks), local.google_apis)
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
