# A hub in AWS and one in Google Cloud with a site-to-site link. Pods that join either hub reach S3 and Google Storage by
# name, and the hosts of both hubs.

terraform {
  required_version = ">= 1.9"
  required_providers {
    warren = { source = "warren-net/warren" }
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

variable "project" {
  description = "ID of the Google Cloud project."
  type        = string
  default     = "acme-ml"
}

variable "image_id" {
  description = "ID of the image of the AWS gateway: Linux with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel. Null if the images contain it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "rotation" {
  description = "Arbitrary label, such as a date. A change generates new keys in both clouds and replaces no gateway."
  type        = string
  default     = null
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.gcp_endpoint_url }
}

resource "warren_address_plan" "main" {
  pools = { gcp = ["10.0.0.0/12"], aws = ["172.16.0.0/12"], overlay = ["10.100.0.0/16"] }

  networks = {
    aws         = { cidr = "172.16.0.0/16", cloud = "aws", subnets = { public = { prefix = 24 }, data = { prefix = 24 } } }
    gcp         = { cidr = "10.0.0.0/16", cloud = "gcp", subnets = { main = { cidr = "10.0.0.0/20" } } }
    overlay-aws = { cidr = "10.100.0.0/17", cloud = "overlay" }
    overlay-gcp = { cidr = "10.100.128.0/17", cloud = "overlay" }
  }
}

locals {
  network = warren_address_plan.main.network
}

resource "warren_aws_vpc" "hub" {
  name       = "hub"
  cidr_block = local.network["aws"].cidr
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name           = "public"
  vpc_id         = warren_aws_vpc.hub.id
  vpc_cidr_block = local.network["aws"].cidr
  cidr_block     = local.network["aws"].subnets["public"].cidr
}

resource "warren_aws_route_table" "public" {
  name       = "public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]
  routes = concat(
    [{ destination_cidr_block = "0.0.0.0/0", gateway_id = warren_aws_internet_gateway.hub.id }],
    module.multi_cloud.aws_routes,
  )
}

# Interface endpoints for S3 and ECR, whose names the gateway resolves.

resource "warren_aws_subnet" "data" {
  name              = "data"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = local.network["aws"].cidr
  cidr_block        = local.network["aws"].subnets["data"].cidr
  availability_zone = "us-east-1a"
}

resource "warren_aws_route_table" "data" {
  name       = "data"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.data.id]
}

module "endpoints" {
  source = "../../modules/aws-endpoints"

  name               = "hub"
  region             = "us-east-1"
  vpc_id             = warren_aws_vpc.hub.id
  route_table_ids    = [warren_aws_route_table.data.id]
  subnet_ids         = [warren_aws_subnet.data.id]
  client_cidr_blocks = [local.network["aws"].cidr]
  buckets            = ["acme-datasets"]
  shared             = true
}

module "gcp" {
  source = "../../modules/gcp-hub"

  name                 = "hub"
  subnetworks          = { main = { ip_cidr_range = local.network["gcp"].subnets["main"].cidr } }
  internal_cidr_blocks = [local.network["gcp"].cidr]
  google_apis          = "private"
  nat                  = false
}

resource "warren_aws_signing_key" "tokens" {
  name     = "/warren/llm-training/tokens"
  rotation = var.rotation
}

module "multi_cloud" {
  source = "../../modules/multi-cloud"

  fabric       = "llm-training"
  token_keys   = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  key_rotation = var.rotation
  release      = var.release
  labels       = { team = "platform" }
  between      = [{ ports = ["443"], protocols = ["tcp"] }]
  groups = {
    gpu = { allow = [
      { to = [local.network["aws"].cidr, local.network["gcp"].cidr], ports = ["443"], protocols = ["tcp"] },
      { services = ["s3", "ecr", "storage"] },
    ] }
  }
  tests = [for site in ["aws", "gcp"] : { from = "gpu", to = "${cidrhost(local.network[site].cidr, 10)}:22", allow = false }]

  aws = {
    vpc_id             = warren_aws_vpc.hub.id
    subnet_id          = warren_aws_subnet.public.id
    cidr_blocks        = [local.network["aws"].cidr]
    overlay_cidr_block = local.network["overlay-aws"].cidr
    image_id           = var.image_id
    services           = module.endpoints.services
  }
  gcp = {
    network            = module.gcp.network_id
    subnetwork         = module.gcp.subnetwork_ids["main"]
    zone               = "us-central1-a"
    cidr_blocks        = [local.network["gcp"].cidr]
    overlay_cidr_block = local.network["overlay-gcp"].cidr
    internet_route     = true
    services           = module.gcp.services
  }
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways, for enrolment tokens."
  value       = module.multi_cloud.gateways
}

output "sites" {
  description = "Both ends of the site-to-site link."
  value       = module.multi_cloud.sites
}
