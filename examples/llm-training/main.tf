# Data and training on two clouds and on rented GPUs, with one address plan. The GPU pods reach S3, ECR and Google
# Storage through the tunnel. The plan and the state contain no private keys or tokens.

terraform {
  required_version = ">= 1.11" # ephemeral values
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}

variable "endpoint_url" {
  description = "URL of an emulated AWS. Null for AWS itself."
  type        = string
  default     = null
}

variable "gcp_endpoint_url" {
  description = "URL of an emulated Google Cloud. Null for Google Cloud itself."
  type        = string
  default     = null
}

variable "runpod_endpoint_url" {
  description = "URL of an emulated RunPod. Null for RunPod itself."
  type        = string
  default     = null
}

variable "project" {
  description = "ID of the Google Cloud project."
  type        = string
  default     = "acme-ml"
}

variable "aws_cidr_block" {
  description = "IPv4 range of the AWS VPC, a `/16`."
  type        = string
  default     = "172.16.0.0/16"
}

variable "gateway_image_id" {
  description = "ID of the image of the AWS gateway: Linux with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

variable "gateway_release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel. Null if the images of both gateways contain it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "pods" {
  description = "Number of GPU pods to rent."
  type        = number
  default     = 1
}

variable "pod_image" {
  description = "Image of the pods, which contains the agent. See examples/pod-image."
  type        = string
  default     = "ghcr.io/acme/train:1"
}

variable "tags" {
  description = "Tags of all AWS objects."
  type        = map(string)
  default     = { team = "platform" }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.gcp_endpoint_url }
  runpod = { endpoint_url = var.runpod_endpoint_url } # the API key is in RUNPOD_API_KEY
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
    overlay-aws = { cidr = "10.100.0.0/24", cloud = "overlay" }
    overlay-gcp = { cidr = "10.100.1.0/24", cloud = "overlay" }
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
  google_apis          = "private"
}

module "gcp_spoke" {
  source   = "../../modules/gcp-spoke"
  for_each = local.spokes

  name                 = each.key
  hub_network_id       = module.gcp_hub.network_id
  subnetworks          = { main = { ip_cidr_range = local.gcp[each.key].subnets["main"].cidr } }
  internal_cidr_blocks = [local.gcp[each.key].cidr, local.gcp["hub"].cidr]
  # The Cloud NAT gateway of the hub does not serve spokes, so the training spoke has its own.
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
  buckets           = ["acme-datasets", "acme-checkpoints"]
  endpoints         = "hub"
  tags              = var.tags
}

# The tunnel: a gateway in each hub, the link between them, and an enrolment token for pods.

resource "warren_aws_signing_key" "tokens" {
  name = "/warren/llm-training/tokens"
  tags = var.tags
}

module "gateways" {
  source = "../../modules/multi-cloud"

  fabric     = "llm-training"
  release    = var.gateway_release
  token_keys = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  labels     = var.tags
  between    = [{ ports = ["443"], protocols = ["tcp"] }]

  # The pods' names of S3, ECR and Google Storage resolve to these services.
  groups = { gpu = { allow = [{ services = ["s3", "ecr", "storage"] }] } }

  aws = {
    vpc_id             = module.aws.vpc_id
    subnet_id          = module.aws.subnet_ids["public"]
    cidr_blocks        = [local.network["aws"].cidr]
    overlay_cidr_block = local.network["overlay-aws"].cidr
    image_id           = var.gateway_image_id
    resolver           = module.aws.resolver
    services           = module.aws.services
  }
  gcp = {
    network            = module.gcp_hub.network_id
    subnetwork         = module.gcp_hub.subnetwork_ids["main"]
    zone               = "us-central1-a"
    cidr_blocks        = [local.gcp["hub"].cidr]
    overlay_cidr_block = local.network["overlay-gcp"].cidr
    resolver           = module.gcp_hub.resolver
    services           = module.gcp_hub.services
  }
}

ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}

ephemeral "warren_enrolment_token" "pods" {
  fabric      = "llm-training"
  group       = "gpu"
  ttl         = "7d" # pods restart within this time
  uses        = max(var.pods, 1)
  signing_key = ephemeral.warren_aws_signing_key.tokens.secret_key

  gateways = [for gateway in module.gateways.gateways : {
    name       = gateway.name
    public_key = gateway.key
    udp        = gateway.udp
    tls        = gateway.tls
    pins       = gateway.pins
  }]
}

module "training" {
  source = "../../modules/gpu-pods"

  name  = "training"
  pods  = var.pods
  image = var.pod_image
  gpu   = { id = "NVIDIA GeForce RTX 4090" }
  token = ephemeral.warren_enrolment_token.pods.token
}

module "image" {
  source = "../../modules/container-registry"

  name   = "trainer"
  tags   = var.tags
  labels = { team = "platform" }
}

output "network" {
  description = "All ranges of the address plan: both clouds and the overlay."
  value       = warren_address_plan.main.cidrs
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways."
  value       = module.gateways.gateways
}

output "pods" {
  description = "IDs of the pods by name."
  value       = module.training.pod_ids
}
