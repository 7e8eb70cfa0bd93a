# Three sites and the gateway through which they reach an aggregator. The site in AWS and the one in Google Cloud are networks with
# data. The site at RunPod is a pod with data on a volume. Plan and state contain no token and no private key.

terraform {
  required_version = ">= 1.11" # ephemeral values and write-only attributes
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

variable "gateway_image_id" {
  description = "ID of the image of the gateway: Linux with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel. Null if the gateway's image contains it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "pod_image" {
  description = "Image of the pod at RunPod with the agent and this folder in `/opt/federated`."
  type        = string
  default     = "ghcr.io/acme/federated:1"
}

variable "token_version" {
  description = "Version of the enrolment token of the pod at RunPod. Raise it to store a new token."
  type        = number
  default     = 1
}

provider "warren" {
  fabric = "federated"
  owner  = "ml-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.gcp_endpoint_url }
  runpod = { endpoint_url = var.runpod_endpoint_url } # the API key is in RUNPOD_API_KEY
}

# The site in AWS. Its data and its trainer are in a subnet without a route to the internet. The gateway is in the same VPC, so the
# trainer reaches it at its private address.

resource "warren_aws_vpc" "site" {
  name       = "site-aws"
  cidr_block = "10.1.0.0/24"
}

resource "warren_aws_subnet" "public" {
  name           = "aws-gateway"
  vpc_id         = warren_aws_vpc.site.id
  vpc_cidr_block = warren_aws_vpc.site.cidr_block
  cidr_block     = "10.1.0.0/28"
}

resource "warren_aws_subnet" "data" {
  name           = "aws-data"
  vpc_id         = warren_aws_vpc.site.id
  vpc_cidr_block = warren_aws_vpc.site.cidr_block
  cidr_block     = "10.1.0.128/25"
}

resource "warren_aws_internet_gateway" "site" {
  name   = "site-aws"
  vpc_id = warren_aws_vpc.site.id
}

resource "warren_aws_route_table" "public" {
  name       = "aws-gateway"
  vpc_id     = warren_aws_vpc.site.id
  subnet_ids = [warren_aws_subnet.public.id]
  routes     = [{ destination_cidr_block = "0.0.0.0/0", gateway_id = warren_aws_internet_gateway.site.id }]
}

resource "warren_aws_route_table" "data" {
  name       = "aws-data"
  vpc_id     = warren_aws_vpc.site.id
  subnet_ids = [warren_aws_subnet.data.id]
  routes     = []
}

# The site in Google Cloud. Its firewall and its only route to the outside lead to the gateway.

module "site_gcp" {
  source = "../../modules/gcp-network"

  name                 = "site-gcp"
  subnetworks          = { data = { ip_cidr_range = "10.2.0.0/24" } }
  internal_cidr_blocks = ["10.2.0.0/24"]
}

locals {
  gateway_address = split(":", module.gateway.gateways[0].udp)[0]
}

resource "warren_gcp_route" "gateway" {
  name             = "site-gcp-gateway"
  description      = "The gateway of the tunnel, and nothing else outside"
  network          = module.site_gcp.network_id
  dest_range       = "${local.gateway_address}/32"
  next_hop_gateway = "default-internet-gateway"
}

resource "warren_gcp_router_nat" "gateway" {
  name    = "site-gcp-nat"
  network = module.site_gcp.network_id
}

resource "warren_gcp_firewall" "gateway" {
  name               = "site-gcp-gateway"
  description        = "The tunnel"
  network            = module.site_gcp.network_id
  direction          = "EGRESS"
  priority           = 1000
  destination_ranges = ["${local.gateway_address}/32"]
  allow              = [{ protocol = "udp", ports = ["51820"] }, { protocol = "tcp", ports = ["443"] }]
}

# The gateway. Its only rule lets sites reach the aggregator on one port. The tests are mostly of flows that must stay denied: the
# gateway refuses a configuration that breaks one of them, and keeps the previous one.

resource "warren_aws_signing_key" "tokens" {
  name = "/warren/federated/tokens"
}

module "gateway" {
  source = "../../modules/wireguard-gateway/aws"

  name            = "gw"
  fabric          = "federated"
  vpc_id          = warren_aws_vpc.site.id
  vpc_cidr_blocks = [warren_aws_vpc.site.cidr_block]
  image_id        = var.gateway_image_id
  release         = var.release
  token_keys      = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  gateways        = { a = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.0.0/24"] } }

  groups = {
    sites      = { allow = [{ to = ["group:aggregator"], ports = ["8080"], protocols = ["tcp"] }] }
    aggregator = { allow = [] }
  }
  tests = concat(
    [
      { from = "sites", to = "group:aggregator:8080", allow = true },
      { from = "sites", to = "group:aggregator:22", allow = false },
      { from = "sites", to = "group:sites:9000", allow = false },
      { from = "aggregator", to = "group:sites:9000", allow = false },
    ],
    flatten([for group in ["sites", "aggregator"] : [for data in ["10.1.0.200", "10.2.0.200"] :
      { from = group, to = "${data}:443", allow = false }
    ]]),
  )
}

# The site at RunPod: a pod with its data on a volume.

ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}

ephemeral "warren_enrolment_token" "runpod" {
  fabric      = "federated"
  group       = "sites"
  ttl         = "7d" # pods restart within this time
  uses        = 1
  signing_key = ephemeral.warren_aws_signing_key.tokens.secret_key

  gateways = [for gateway in module.gateway.gateways : {
    name       = gateway.name
    public_key = gateway.key
    udp        = gateway.udp
    tls        = gateway.tls
    pins       = gateway.pins
  }]
}

module "site_runpod" {
  source = "../../modules/gpu-pods"

  name          = "site-runpod"
  image         = var.pod_image
  args          = "python3 /opt/federated/trainer.py --site site-runpod --data /workspace/samples.npz"
  gpu           = { id = "NVIDIA GeForce RTX 4090" }
  volume        = { size = 10, data_center = "EU-RO-1" }
  agent         = { direct = false } # the agent's proxies lead to the tunnel only
  token         = ephemeral.warren_enrolment_token.runpod.token
  token_version = var.token_version
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways."
  value       = module.gateway.gateways
}

output "pods" {
  description = "IDs of the pods by name."
  value       = module.site_runpod.pod_ids
}
