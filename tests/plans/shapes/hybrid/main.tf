# A VPC with a site behind a VPN, remote workers, and a cluster: ranges that are neither VPCs nor subnets.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "main" {
  cidr_block = "172.20.0.0/16"
}

resource "aws_subnet" "main" {
  count      = 2
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet(aws_vpc.main.cidr_block, 4, count.index)
}

resource "aws_vpn_gateway" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_customer_gateway" "site" {
  bgp_asn    = 65000
  ip_address = "203.0.113.10"
  type       = "ipsec.1"
}

resource "aws_vpn_connection" "site" {
  vpn_gateway_id      = aws_vpn_gateway.main.id
  customer_gateway_id = aws_customer_gateway.site.id
  type                = "ipsec.1"
  static_routes_only  = true
}

resource "aws_vpn_connection_route" "site" {
  for_each               = toset(["192.168.10.0/24", "172.20.128.0/20", "172.16.0.0/12"])
  destination_cidr_block = each.value
  vpn_connection_id      = aws_vpn_connection.site.id
}

resource "aws_ec2_transit_gateway" "core" {}

resource "aws_ec2_transit_gateway_vpc_attachment" "main" {
  transit_gateway_id = aws_ec2_transit_gateway.core.id
  vpc_id             = aws_vpc.main.id
  subnet_ids         = aws_subnet.main[*].id
}

resource "aws_vpn_connection" "branch" {
  transit_gateway_id  = aws_ec2_transit_gateway.core.id
  customer_gateway_id = aws_customer_gateway.site.id
  type                = "ipsec.1"
  static_routes_only  = true
}

resource "aws_ec2_transit_gateway_route_table" "core" {
  transit_gateway_id = aws_ec2_transit_gateway.core.id
}

resource "aws_ec2_transit_gateway_route" "main" {
  destination_cidr_block         = "172.20.0.0/16"
  transit_gateway_attachment_id  = aws_ec2_transit_gateway_vpc_attachment.main.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.core.id
}

resource "aws_ec2_transit_gateway_route" "branch" {
  destination_cidr_block         = "172.20.64.0/20"
  transit_gateway_attachment_id  = aws_vpn_connection.branch.transit_gateway_attachment_id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.core.id
}

resource "aws_ec2_client_vpn_endpoint" "workers" {
  client_cidr_block      = "172.20.240.0/22"
  server_certificate_arn = "arn:aws:acm:eu-central-1:111122223333:certificate/0"
}

resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::111122223333:role/eks"

  vpc_config {
    subnet_ids = aws_subnet.main[*].id
  }

  kubernetes_network_config {
    service_ipv4_cidr = "172.20.0.0/16"
  }
}
