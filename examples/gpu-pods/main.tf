# Pods at RunPod that reach the hub through the tunnel; no token and no password is in plan or state.

terraform {
  required_version = ">= 1.11"
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" {
  description = "URL under which RunPod answers; null for RunPod itself."
  type        = string
  default     = null
}

variable "pods" {
  description = "How many pods."
  type        = number
  default     = 2
}

variable "image" {
  description = "Image with the agent in it, see examples/pod-image."
  type        = string
  default     = "ghcr.io/acme/train:1"
}

variable "token_version" {
  description = "Raise it to hand out a new enrolment token."
  type        = number
  default     = 1
}

variable "registry_version" {
  description = "Raise it with each new password of the registry."
  type        = number
  default     = 1
}

variable "registry_password" {
  description = "Password or token of the registry: TF_VAR_registry_password."
  type        = string
  sensitive   = true
  ephemeral   = true
}

provider "warren" {
  fabric = "llm-training"
  owner  = "ml-repo"
  runpod = { endpoint_url = var.endpoint_url } # the key is in RUNPOD_API_KEY
}

ephemeral "warren_enrolment_token" "pods" {
  fabric          = "llm-training"
  group           = "gpu"
  ttl             = "7d"
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
  gpu   = { id = "NVIDIA GeForce RTX 4090" }

  environment   = { MODE = "train" }
  agent         = { direct = true }
  token         = ephemeral.warren_enrolment_token.pods.token
  token_version = var.token_version

  registry          = { username = "acme", version = var.registry_version }
  registry_password = var.registry_password

  volume = { size = 100, data_center = "EU-RO-1" }
}

output "pods" {
  description = "Ids of the pods, by name."
  value       = module.training.pod_ids
}
