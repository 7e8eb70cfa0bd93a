# Data and training on two clouds, and the overlay of rented GPUs, from one address plan.

terraform {
  required_version = ">= 1.8"
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}

variable "endpoint_url" {
  description = "Endpoint of an AWS emulator; null for AWS itself."
  type        = string
  default     = null
}

variable "gcp_endpoint_url" {
  description = "Endpoint of a double of Google's APIs; null for Google itself."
  type        = string
  default     = null
}

variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
  default     = "acme-ml"
}

variable "aws_cidr_block" {
  description = "Range of the AWS VPC, a /16."
  type        = string
  default     = "172.16.0.0/16"
}

variable "tags" {
  description = "Tags of every AWS object."
  type        = map(string)
  default     = { team = "platform" }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.gcp_endpoint_url }
}

resource "warren_address_plan" "main" {
  pools    = { gcp = ["10.0.0.0/12"], aws = ["172.16.0.0/12"], overlay = ["10.100.0.0/16"] }
  reserved = { docker = ["172.17.0.0/16"] }

  networks = {
    gcp-hub    = { cidr = "10.0.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.0.0.0/20" } } }
    gcp-data   = { cidr = "10.1.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.1.0.0/20" } } }
    gcp-ml     = { cidr = "10.2.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.2.0.0/20" } } }
    gcp-shared = { cidr = "10.3.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.3.0.0/20" } } }
    aws = {
      cidr  = var.aws_cidr_block
      cloud = "aws"
      subnets = {
        public = { prefix = 24 }
        data   = { prefix = 24 }
        ml     = { prefix = 24 }
      }
    }
    overlay = { cidr = "10.100.0.0/24", cloud = "overlay" }
  }
}

locals {
  network = warren_address_plan.main.network
  gcp     = { for name in ["hub", "data", "ml", "shared"] : name => local.network["gcp-${name}"] }
  spokes  = toset(["data", "ml", "shared"])
}

module "gcp_hub" {
  source = "../../modules/gcp-hub"

  name                 = "hub"
  subnetworks          = { main = { ip_cidr_range = local.gcp["hub"].subnets["main"].cidr } }
  internal_cidr_blocks = [for network in local.gcp : network.cidr]
  google_apis_address  = cidrhost(local.gcp["hub"].cidr, -2)
}

module "gcp_spoke" {
  source   = "../../modules/gcp-spoke"
  for_each = local.spokes

  name                 = each.key
  hub_network_id       = module.gcp_hub.network_id
  subnetworks          = { main = { ip_cidr_range = local.gcp[each.key].subnets["main"].cidr } }
  internal_cidr_blocks = [local.gcp[each.key].cidr, local.gcp["hub"].cidr]
  # The hub's NAT serves no spoke: training reaches the web by its own.
  nat = each.key == "ml"
}

module "aws" {
  source = "../../modules/aws-hub"

  name              = "aws"
  cidr_block        = local.network["aws"].cidr
  public_cidr_block = local.network["aws"].subnets["public"].cidr
  data_cidr_block   = local.network["aws"].subnets["data"].cidr
  ml_cidr_block     = local.network["aws"].subnets["ml"].cidr
  availability_zone = "us-east-1a"
  spoke_cidr_blocks = {}
  buckets           = ["acme-datasets", "acme-checkpoints"]
  tags              = var.tags
}

resource "warren_gcp_artifact_registry_repository" "trainer" {
  name   = "trainer"
  labels = { team = "platform" }
}

resource "warren_aws_ecr_repository" "trainer" {
  name             = "llm/trainer"
  keep_last_images = 20
  tags             = var.tags
}

output "network" {
  description = "Every range of the plan, of both clouds and the overlay."
  value       = warren_address_plan.main.cidrs
}
