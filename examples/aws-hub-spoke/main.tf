# A hub with endpoints for S3 and ECR, and two spokes that use them, from one address plan.

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

variable "training_cidr_block" {
  description = "IPv4 range of the training spoke. Null to let the plan choose one."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = { team = "platform" }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
}

resource "warren_address_plan" "main" {
  pools    = { aws = ["172.16.0.0/12"] }
  reserved = { docker = ["172.17.0.0/16"] }

  networks = {
    aws = {
      cidr  = "172.16.0.0/16"
      cloud = "aws"
      subnets = {
        public = { cidr = "172.16.0.0/24" }
        data   = { cidr = "172.16.1.0/24" }
        ml     = { cidr = "172.16.2.0/24" }
      }
    }
    training = {
      pool    = "aws"
      cidr    = var.training_cidr_block
      prefix  = var.training_cidr_block == null ? 20 : null
      cloud   = "aws"
      subnets = { a = { hosts = 200, growth = 2.0 } }
    }
    tuning = {
      pool    = "aws"
      prefix  = 20
      cloud   = "aws"
      subnets = { a = { hosts = 200, growth = 2.0 } }
    }
  }
}

locals {
  network = warren_address_plan.main.network
}

module "hub" {
  source = "../../modules/aws-hub"

  name              = "aws"
  cidr_block        = local.network["aws"].cidr
  public_cidr_block = local.network["aws"].subnets["public"].cidr
  data_cidr_block   = local.network["aws"].subnets["data"].cidr
  ml_cidr_block     = local.network["aws"].subnets["ml"].cidr
  availability_zone = "us-east-1a"
  spoke_cidr_blocks = { for name in ["training", "tuning"] : name => local.network[name].cidr }
  buckets           = ["acme-datasets", "acme-checkpoints"]
  endpoints         = "hub"
  tags              = var.tags
}

module "training" {
  source = "../../modules/aws-spoke"

  name                 = "training"
  cidr_block           = local.network["training"].cidr
  subnets              = { a = { cidr_block = local.network["training"].subnets["a"].cidr, availability_zone = "us-east-1a" } }
  transit_gateway_id   = module.hub.transit_gateway_id
  spoke_route_table_id = module.hub.spoke_route_table_id
  hub_route_table_id   = module.hub.hub_route_table_id
  hub_cidr_block       = local.network["aws"].cidr
  zone_ids             = module.hub.dns_zone_ids
  tags                 = var.tags
}

module "tuning" {
  source = "../../modules/aws-spoke"

  name                 = "tuning"
  cidr_block           = local.network["tuning"].cidr
  subnets              = { a = { cidr_block = local.network["tuning"].subnets["a"].cidr, availability_zone = "us-east-1a" } }
  transit_gateway_id   = module.hub.transit_gateway_id
  spoke_route_table_id = module.hub.spoke_route_table_id
  hub_route_table_id   = module.hub.hub_route_table_id
  hub_cidr_block       = local.network["aws"].cidr
  zone_ids             = module.hub.dns_zone_ids
  internet             = false
  tags                 = var.tags
}

resource "warren_aws_ecr_repository" "trainer" {
  name             = "llm/trainer"
  keep_last_images = 20
  tags             = var.tags
}

output "network" {
  description = "All ranges of the plan."
  value       = warren_address_plan.main.cidrs
}

output "repository_url" {
  description = "URL of the ECR repository."
  value       = warren_aws_ecr_repository.trainer.repository_url
}

output "nat_public_ip" {
  description = "Public IP address from which the network connects to the internet."
  value       = module.hub.nat_public_ip
}
