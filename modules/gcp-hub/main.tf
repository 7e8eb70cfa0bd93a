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
