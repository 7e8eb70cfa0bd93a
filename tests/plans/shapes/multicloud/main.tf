# A VPC and a transit gateway of AWS, each linked by VPN to a network of Google Cloud. A third VPN leads to an office.

provider "aws" {
  region = "eu-central-1"
}

provider "google" {
  project = "acme"
  region  = "europe-west4"
}

resource "aws_vpc" "main" {
  for_each   = { training = "10.210.0.0/16", data = "10.211.0.0/16" }
  cidr_block = each.value
  tags       = { Name = each.key }
}

resource "aws_subnet" "main" {
  for_each   = aws_vpc.main
  vpc_id     = each.value.id
  cidr_block = cidrsubnet(each.value.cidr_block, 4, 0)
  tags       = { Name = each.key }
}

resource "google_compute_network" "main" {
  for_each                = toset(["serving", "archive"])
  name                    = each.key
  auto_create_subnetworks = false
}

# One of them has addresses of the VPC that it is linked to.
resource "google_compute_subnetwork" "main" {
  for_each      = { serving = "10.210.128.0/20", archive = "10.212.0.0/20" }
  name          = each.key
  network       = google_compute_network.main[each.key].id
  region        = "europe-west4"
  ip_cidr_range = each.value
}

# HA VPN between the VPC "training" and the network "serving".
resource "aws_vpn_gateway" "training" {
  vpc_id = aws_vpc.main["training"].id
  tags   = { Name = "training" }
}

resource "google_compute_ha_vpn_gateway" "serving" {
  name    = "serving"
  network = google_compute_network.main["serving"].id
  region  = "europe-west4"
}

resource "aws_customer_gateway" "serving" {
  count      = 2
  bgp_asn    = 65000
  ip_address = google_compute_ha_vpn_gateway.serving.vpn_interfaces[count.index].ip_address
  type       = "ipsec.1"
}

resource "aws_vpn_connection" "serving" {
  count               = 2
  vpn_gateway_id      = aws_vpn_gateway.training.id
  customer_gateway_id = aws_customer_gateway.serving[count.index].id
  type                = "ipsec.1"
}

resource "google_compute_external_vpn_gateway" "training" {
  name            = "training"
  redundancy_type = "TWO_IPS_REDUNDANCY"

  dynamic "interface" {
    for_each = aws_vpn_connection.serving
    content {
      id         = interface.key
      ip_address = interface.value.tunnel1_address
    }
  }
}

resource "google_compute_vpn_tunnel" "training" {
  count                           = 2
  name                            = "training-${count.index}"
  region                          = "europe-west4"
  vpn_gateway                     = google_compute_ha_vpn_gateway.serving.id
  peer_external_gateway           = google_compute_external_vpn_gateway.training.id
  peer_external_gateway_interface = count.index
}

# Classic VPN between the transit gateway and the network "archive".
resource "aws_ec2_transit_gateway" "core" {
  tags = { Name = "core" }
}

resource "aws_ec2_transit_gateway_vpc_attachment" "data" {
  transit_gateway_id = aws_ec2_transit_gateway.core.id
  vpc_id             = aws_vpc.main["data"].id
  subnet_ids         = [aws_subnet.main["data"].id]
}

resource "google_compute_vpn_gateway" "archive" {
  name    = "archive"
  network = google_compute_network.main["archive"].id
  region  = "europe-west4"
}

resource "google_compute_address" "archive" {
  name   = "archive"
  region = "europe-west4"
}

resource "aws_customer_gateway" "archive" {
  bgp_asn    = 65001
  ip_address = google_compute_address.archive.address
  type       = "ipsec.1"
}

resource "aws_vpn_connection" "archive" {
  transit_gateway_id  = aws_ec2_transit_gateway.core.id
  customer_gateway_id = aws_customer_gateway.archive.id
  type                = "ipsec.1"
}

resource "google_compute_vpn_tunnel" "archive" {
  name               = "archive"
  region             = "europe-west4"
  target_vpn_gateway = google_compute_vpn_gateway.archive.id
  peer_ip            = aws_vpn_connection.archive.tunnel1_address
}

# An office, which is not drawn.
resource "aws_customer_gateway" "office" {
  bgp_asn    = 65002
  ip_address = "203.0.113.20"
  type       = "ipsec.1"
}

resource "aws_vpn_connection" "office" {
  transit_gateway_id  = aws_ec2_transit_gateway.core.id
  customer_gateway_id = aws_customer_gateway.office.id
  type                = "ipsec.1"
}
