# Two gateways in an AWS hub. The private keys are in Parameter Store, and never in a plan or a state.

terraform {
  required_version = ">= 1.10" # ephemeral values
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" {
  description = "Endpoint of an AWS emulator; null for AWS itself."
  type        = string
  default     = null
}

variable "image_id" {
  description = "ID of a Linux image with systemd, cloud-init, curl and warren-tunnel in /usr/local/bin. Without warren-tunnel, set `release` too."
  type        = string
}

variable "release" {
  description = "URL and SHA-256 digest of warren-tunnel. Null if the image contains it."
  type        = object({ url = string, sha256 = string, architecture = optional(string) })
  default     = null
}

variable "rotation" {
  description = "Arbitrary label, such as a date. A change generates new keys and replaces no gateway."
  type        = string
  default     = null
}

variable "groups" {
  description = "Destinations that each group of peers may reach. A change replaces no gateway."
  type        = any
  default     = { gpu = { rate_mbit = 2000, allow = [{ to = ["10.0.0.0/16"], ports = ["443", "8000-8100"], protocols = ["tcp"] }] } }
}

variable "pod_role_arn" {
  description = "ARN of the role whose credentials pods get, narrowed to the `grants` of their group. Null for none."
  type        = string
  default     = null
}

variable "recovery" {
  description = "Whether AWS replaces the instance of a gateway that fails, keeping addresses, keys and leases. Changing this replaces the gateways."
  type        = bool
  default     = false
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
}

resource "warren_aws_vpc" "hub" {
  name       = "hub"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name           = "public"
  vpc_id         = warren_aws_vpc.hub.id
  vpc_cidr_block = "10.0.0.0/16"
  cidr_block     = "10.0.0.0/24"
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
  name     = "/warren/llm-training/tokens"
  rotation = var.rotation
}

module "gateway" {
  source = "../../modules/wireguard-gateway/aws"

  name            = "gw"
  fabric          = "llm-training"
  vpc_id          = warren_aws_vpc.hub.id
  vpc_cidr_blocks = ["10.0.0.0/16"]
  image_id        = var.image_id
  token_keys      = compact([warren_aws_signing_key.tokens.public_key, warren_aws_signing_key.tokens.previous_public_key])
  groups          = var.groups
  pod_role_arn    = var.pod_role_arn
  key_rotation    = var.rotation
  release         = var.release
  recovery        = var.recovery

  gateways = {
    a = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.0.0/17"] }
    b = { subnet_id = warren_aws_subnet.public.id, overlay_cidr_blocks = ["10.100.128.0/17"] }
  }
}

# The private key for signing tokens in this run; see `ephemeral "warren_enrolment_token"`.
ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways."
  value       = module.gateway.gateways
}
