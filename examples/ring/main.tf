# Pods that sum their gradients in a ring, and the gateway in AWS that lets them reach each other. Plan and state contain no
# token and no private key.

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

variable "runpod_endpoint_url" {
  description = "URL of an emulated RunPod. Null for RunPod itself."
  type        = string
  default     = null
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

variable "pods" {
  description = "Number of pods in the ring, at least 2."
  type        = number
  default     = 3
}

variable "pod_image" {
  description = "Image of the pods with the agent and the scripts of this folder in `/opt/ring`."
  type        = string
  default     = "ghcr.io/acme/ring:1"
}

variable "ports" {
  description = "TCP ports on which pods of the group reach each other. Gloo and NCCL also listen on random ports: use `[\"1024-65535\"]` for them."
  type        = list(string)
  default     = ["29500"]
}

variable "token_version" {
  description = "Version of the enrolment token. Raise it to store a new token."
  type        = number
  default     = 1
}

provider "warren" {
  fabric = "ring"
  owner  = "ml-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  runpod = { endpoint_url = var.runpod_endpoint_url } # the API key is in RUNPOD_API_KEY
}

resource "warren_aws_vpc" "hub" {
  name       = "hub"
  cidr_block = "10.0.0.0/24"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name           = "public"
  vpc_id         = warren_aws_vpc.hub.id
  vpc_cidr_block = warren_aws_vpc.hub.cidr_block
  cidr_block     = "10.0.0.0/26"
}

resource "warren_aws_route_table" "public" {
  name       = "public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]
  routes = concat(
    [{ destination_cidr_block = "0.0.0.0/0", gateway_id = warren_aws_internet_gateway.hub.id }],
    module.gateway.routes,
  )
}

resource "warren_aws_signing_key" "tokens" {
  name = "/warren/ring/tokens"
}

# Pods reach each other through this gateway, so all their traffic passes it twice.
module "gateway" {
  source = "../../modules/wireguard-gateway/aws"

  name            = "gw"
  fabric          = "ring"
  vpc_id          = warren_aws_vpc.hub.id
  vpc_cidr_blocks = ["10.0.0.0/24"]
  image_id        = var.gateway_image_id
  release         = var.release
  token_keys      = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  groups          = { trainers = { allow = [{ to = ["group:trainers"], ports = var.ports, protocols = ["tcp"] }] } }

  gateways = { a = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.0.0/24"] } }
}

ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}

ephemeral "warren_enrolment_token" "pods" {
  fabric      = "ring"
  group       = "trainers"
  ttl         = "7d" # pods restart within this time
  uses        = var.pods
  signing_key = ephemeral.warren_aws_signing_key.tokens.secret_key

  gateways = [for gateway in module.gateway.gateways : {
    name       = gateway.name
    public_key = gateway.key
    udp        = gateway.udp
    tls        = gateway.tls
    pins       = gateway.pins
  }]
}

module "training" {
  source = "../../modules/gpu-pods"

  name          = "train"
  pods          = var.pods
  image         = var.pod_image
  args          = "python3 /opt/ring/train.py --backend ring --proxy --measure 100000000"
  gpu           = { id = "NVIDIA GeForce RTX 4090" }
  token         = ephemeral.warren_enrolment_token.pods.token
  token_version = var.token_version

  # The pods know each other by name. The agent forwards port 29500 of the pod's address in the tunnel to the program.
  environment = { RING_PEERS = join(",", [for pod in range(var.pods) : "train-${pod}.trainers.warren.internal"]) }
  agent       = { reverse = ["29500=127.0.0.1:29500"] }
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways."
  value       = module.gateway.gateways
}

output "pods" {
  description = "IDs of the pods by name."
  value       = module.training.pod_ids
}
