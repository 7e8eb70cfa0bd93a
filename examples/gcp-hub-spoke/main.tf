# A hub and three spokes on Google Cloud, from one address plan.

terraform {
  required_version = ">= 1.8"
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}

variable "endpoint_url" {
  description = "URL of an emulated Google Cloud. Null for Google Cloud itself."
  type        = string
  default     = null
}

variable "project" {
  description = "ID of the project."
  type        = string
  default     = "acme-ml"
}

variable "ml_cidr_block" {
  description = "IPv4 range of the ML spoke."
  type        = string
  default     = "10.2.0.0/16"
}

variable "ml_nat" {
  description = "Whether the ML spoke has a Cloud NAT gateway for access to the web."
  type        = bool
  default     = true
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.endpoint_url }
}

resource "warren_address_plan" "main" {
  pools = { gcp = ["10.0.0.0/12"] }

  networks = {
    hub    = { cidr = "10.0.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.0.0.0/20" } } }
    data   = { cidr = "10.1.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.1.0.0/20" } } }
    shared = { cidr = "10.3.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.3.0.0/20" } } }
    ml = {
      cidr  = var.ml_cidr_block
      cloud = "gcp"
      subnets = {
        nodes    = { prefix = 20 }
        pods     = { prefix = 18 }
        services = { prefix = 22 }
      }
    }
  }
}

locals {
  network = warren_address_plan.main.network
  hub     = local.network["hub"].cidr
}

module "hub" {
  source = "../../modules/gcp-hub"

  name                 = "hub"
  description          = "Shared hub"
  subnetworks          = { main = { ip_cidr_range = local.network["hub"].subnets["main"].cidr } }
  internal_cidr_blocks = [for name in ["hub", "data", "ml", "shared"] : local.network[name].cidr]
  google_apis          = "psc"
  google_apis_address  = cidrhost(local.hub, -2)
}

module "data" {
  source = "../../modules/gcp-spoke"

  name                 = "data"
  description          = "Training data"
  hub_network_id       = module.hub.network_id
  subnetworks          = { main = { ip_cidr_range = local.network["data"].subnets["main"].cidr } }
  internal_cidr_blocks = [local.network["data"].cidr, local.hub]
  google_apis          = "restricted"
}

module "ml" {
  source = "../../modules/gcp-spoke"

  name           = "ml"
  description    = "Training runs"
  hub_network_id = module.hub.network_id
  subnetworks = {
    nodes = {
      ip_cidr_range = local.network["ml"].subnets["nodes"].cidr
      secondary_ip_ranges = {
        pods     = local.network["ml"].subnets["pods"].cidr
        services = local.network["ml"].subnets["services"].cidr
      }
    }
  }
  internal_cidr_blocks = [local.network["ml"].cidr, local.hub]
  google_apis          = "private"
  nat                  = var.ml_nat
}

module "shared" {
  source = "../../modules/gcp-spoke"

  name                 = "shared"
  description          = "Shared services"
  hub_network_id       = module.hub.network_id
  subnetworks          = { main = { ip_cidr_range = local.network["shared"].subnets["main"].cidr } }
  internal_cidr_blocks = [local.network["shared"].cidr, local.hub]
  google_apis          = "private"
}

resource "warren_gcp_artifact_registry_repository" "trainer" {
  name   = "trainer"
  labels = { team = "platform" }
}

output "network" {
  description = "All ranges of the address plan."
  value       = warren_address_plan.main.cidrs
}

output "registry_uri" {
  description = "Address of the image registry."
  value       = warren_gcp_artifact_registry_repository.trainer.registry_uri
}
