# GPU pods at RunPod that reach the hub through the tunnel. Plan and state contain no token and no password.

terraform {
  required_version = ">= 1.11"
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" {
  description = "Base URL of the RunPod API, or null for RunPod's own."
  type        = string
  default     = null
}

variable "pods" {
  description = "Number of pods."
  type        = number
  default     = 2
}

variable "image" {
  description = "Container image that contains the tunnel agent; see `examples/pod-image`."
  type        = string
  default     = "ghcr.io/acme/train:1"
}

variable "token_version" {
  description = "Version of the enrolment token. Raise it to store a new token."
  type        = number
  default     = 1
}

variable "registry_version" {
  description = "Version of the registry password. Raise it with each new password."
  type        = number
  default     = 1
}

variable "registry_password" {
  description = "Password or token of the registry. Set it as `TF_VAR_registry_password`."
  type        = string
  sensitive   = true
  ephemeral   = true
}

provider "warren" {
  fabric = "llm-training"
  owner  = "ml-repo"
  runpod = { endpoint_url = var.endpoint_url } # reads the API key from RUNPOD_API_KEY
}

ephemeral "warren_enrolment_token" "pods" {
  fabric          = "llm-training"
  group           = "gpu"
  ttl             = "7d" # pods restart within this time
  uses            = max(var.pods, 1)
  signing_key_env = "WARREN_SIGNING_KEY" # `k4.secret.…`

  gateways = [{
    name       = "gw-a"
    public_key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
    udp        = "gw-a.example.com:51820"
    tls        = "gw-a.example.com:443"
    pins       = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
  }]
}

module "training" {
  source = "../../modules/gpu-pods"

  name  = "training"
  pods  = var.pods
  image = var.image
  gpu   = { ids = ["NVIDIA GeForce RTX 4090", "NVIDIA A100 80GB PCIe"] } # in order of preference

  environment   = { MODE = "train" }
  agent         = { direct = true }
  token         = ephemeral.warren_enrolment_token.pods.token
  token_version = var.token_version

  registry          = { username = "acme", version = var.registry_version }
  registry_password = var.registry_password

  volume = { size = 100, data_center = "EU-RO-1" }
}

output "pods" {
  description = "IDs of the pods by name."
  value       = module.training.pod_ids
}
