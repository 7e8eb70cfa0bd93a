module "network" {
  source = "../gcp-network"

  name                 = var.name
  description          = var.description
  region               = var.region
  subnetworks          = var.subnetworks
  internal_cidr_blocks = var.internal_cidr_blocks
  nat                  = var.nat
  google_apis_address  = var.google_apis_address
  flow_logs            = var.flow_logs
}
