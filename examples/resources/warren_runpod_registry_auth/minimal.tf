variable "registry_password" {
  description = "Password or token of the container registry."
  type        = string
  sensitive   = true
  ephemeral   = true
}

resource "warren_runpod_registry_auth" "images" {
  name        = "acme-images"
  username    = "acme"
  password_wo = var.registry_password
}
