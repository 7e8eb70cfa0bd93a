# Two gateways in a Google Cloud hub; keys are in Secret Manager, and in no plan and no state.

terraform {
  required_version = ">= 1.10" # ephemeral values
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" {
  description = "Endpoint of a double of Google Cloud; null for Google itself."
  type        = string
  default     = null
}

variable "project" {
  description = "Id of the project."
  type        = string
  default     = "acme-ml"
}

variable "release" {
  description = "Where the gateways download warren-tunnel; null if the image has it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "rotation" {
  description = "Any word, such as a date. A change makes new keys and replaces no gateway."
  type        = string
  default     = null
}

variable "groups" {
  description = "What each group of peers may reach. A change replaces no gateway."
  type        = any
  default     = { gpu = { rate_mbit = 2000, allow = [{ to = ["10.0.0.0/16"], ports = ["443", "8000-8100"], protocols = ["tcp"] }] } }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform-repo"
  gcp    = { project = var.project, region = "us-central1", endpoint_url = var.endpoint_url }
}

resource "warren_gcp_network" "hub" {
  name = "hub"
}

resource "warren_gcp_subnetwork" "gateways" {
  name                     = "gateways"
  network                  = warren_gcp_network.hub.id
  ip_cidr_range            = "10.0.0.0/24"
  private_ip_google_access = true
}

resource "warren_gcp_signing_key" "tokens" {
  name     = "warren-llm-training-tokens"
  rotation = var.rotation
}

module "gateway" {
  source = "../../modules/wireguard-gateway/google"

  name                = "gw"
  fabric              = "llm-training"
  network             = warren_gcp_network.hub.id
  network_cidr_blocks = ["10.0.0.0/16"]
  token_keys          = compact([warren_gcp_signing_key.tokens.public_key, warren_gcp_signing_key.tokens.previous_public_key])
  groups              = var.groups
  key_rotation        = var.rotation
  release             = var.release

  # Keys stay in the gateways' region.
  secrets_replica_locations = ["us-central1"]

  gateways = {
    a = { zone = "us-central1-a", subnetwork = warren_gcp_subnetwork.gateways.id, overlay_cidr_blocks = ["10.100.0.0/17"] }
    b = { zone = "us-central1-b", subnetwork = warren_gcp_subnetwork.gateways.id, overlay_cidr_blocks = ["10.100.128.0/17"] }
  }
}

# For the run that signs a token; see `ephemeral "warren_enrolment_token"`.
ephemeral "warren_gcp_signing_key" "tokens" {
  secret  = warren_gcp_signing_key.tokens.id
  version = warren_gcp_signing_key.tokens.version
}

output "gateways" {
  description = "The gateways as pods reach them."
  value       = module.gateway.gateways
}
