module "network" {
  source = "../gcp-network"

  name                 = var.name
  description          = var.description
  region               = var.region
  subnetworks          = var.subnetworks
  internal_cidr_blocks = var.internal_cidr_blocks
  nat                  = var.nat
  google_apis          = var.google_apis
  google_apis_address  = var.google_apis_address
  google_apis_bundle   = var.google_apis_bundle
  google_apis_domains  = var.google_apis_domains
  flow_logs            = var.flow_logs
}

# A peering is active only if both sides exist.

resource "warren_gcp_network_peering" "spoke" {
  name                 = "${var.name}-to-hub"
  network              = module.network.network_id
  peer_network         = var.hub_network_id
  import_custom_routes = var.import_hub_routes

  depends_on = [module.network]
}

resource "warren_gcp_network_peering" "hub" {
  name                 = "hub-to-${var.name}"
  network              = var.hub_network_id
  peer_network         = module.network.network_id
  export_custom_routes = var.import_hub_routes

  depends_on = [warren_gcp_network_peering.spoke]
}
