# Two gateways in a Google Cloud hub. Private keys are stored in Secret Manager, not in the plan or the state.

terraform {
  required_version = ">= 1.10" # ephemeral values
  required_providers {
    warren = { source = "warren-net/warren" }
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

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel. Null if the image contains it in /usr/local/bin."
  type        = object({ url = string, sha256 = string, architecture = optional(string) })
  default     = null
}

variable "rotation" {
  description = "Arbitrary label, such as a date. A change generates new keys and replaces no gateway."
  type        = string
  default     = null
}

variable "recovery" {
  description = "Whether Google Cloud recreates the VM of a gateway that fails, keeping addresses, keys and leases. Changing this replaces the gateways."
  type        = bool
  default     = false
}

variable "groups" {
  description = "Destinations that each group of peers may reach. A change replaces no gateway."
  type        = any
  default     = { gpu = { rate_mbit = 2000, allow = [{ to = ["10.0.0.0/16"], ports = ["443", "8000-8100"], protocols = ["tcp"] }, { services = ["storage", "artifact-registry"] }] } }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.endpoint_url }
}

module "hub" {
  source = "../../modules/gcp-hub"

  name                 = "hub"
  subnetworks          = { gateways = { ip_cidr_range = "10.0.0.0/24" }, main = { ip_cidr_range = "10.0.16.0/20" } }
  internal_cidr_blocks = ["10.0.0.0/16"]
  google_apis          = "private"
  nat                  = false
}

resource "warren_gcp_signing_key" "tokens" {
  name     = "warren-llm-training-tokens"
  rotation = var.rotation
}

module "gateway" {
  source = "../../modules/wireguard-gateway/google"

  name                = "gw"
  fabric              = "llm-training"
  network             = module.hub.network_id
  network_cidr_blocks = ["10.0.0.0/16"]
  token_keys          = compact([warren_gcp_signing_key.tokens.public_key, warren_gcp_signing_key.tokens.previous_public_key])
  groups              = var.groups
  key_rotation        = var.rotation
  release             = var.release
  recovery            = var.recovery
  internet_route      = true # the hub has no default route

  # Names of Google APIs resolve to private addresses, and groups can name the services.
  services = module.hub.services
  dns      = { zones = [{ domains = distinct(flatten(values(module.hub.services)[*].domains)), resolvers = [module.hub.resolver] }] }

  # Store keys in the region of the gateways only.
  secrets_replica_locations = ["us-central1"]

  gateways = {
    a = { zone = "us-central1-a", subnetwork = module.hub.subnetwork_ids["gateways"], overlay_cidr_blocks = ["10.100.0.0/17"] }
    b = { zone = "us-central1-b", subnetwork = module.hub.subnetwork_ids["gateways"], overlay_cidr_blocks = ["10.100.128.0/17"] }
  }
}

# Input for `ephemeral "warren_enrolment_token"`, which signs a token during a run.
ephemeral "warren_gcp_signing_key" "tokens" {
  secret  = warren_gcp_signing_key.tokens.id
  version = warren_gcp_signing_key.tokens.version
}

output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways."
  value       = module.gateway.gateways
}
