resource "warren_aws_transit_gateway" "hub" {
  name            = "acme-hub"
  description     = "Connects the VPCs of the training platform"
  amazon_side_asn = 64600

  default_route_table_association = true
  default_route_table_propagation = true
  dns_support                     = true
  vpn_ecmp_support                = true
  auto_accept_shared_attachments  = false

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
