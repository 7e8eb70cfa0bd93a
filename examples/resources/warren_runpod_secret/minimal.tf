variable "wandb_api_key" {
  description = "API key to store at RunPod."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = "0123456789abcdef"
}

resource "warren_runpod_secret" "wandb" {
  name     = "acme-wandb-api-key"
  value_wo = var.wandb_api_key
}
