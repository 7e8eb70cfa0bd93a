variable "registry_password" {
  description = "Password or token of the container registry."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "registry_password_version" {
  description = "Version of the password. Raise it with each new password."
  type        = number
  default     = 1
}

resource "warren_runpod_registry_auth" "images" {
  name                = "acme-images"
  username            = "oauth2accesstoken"
  password_wo         = var.registry_password
  password_wo_version = var.registry_password_version
  expires_at          = "2099-12-31T12:00:00Z"

  # The new credential is created before the pods switch to it and the old one is deleted.
  lifecycle {
    create_before_destroy = true
  }

  timeouts = {
    create = "5m"
    read   = "5m"
    update = "5m"
    delete = "5m"
  }
}

resource "warren_runpod_pod" "train" {
  name             = "acme-train"
  image            = "us-central1-docker.pkg.dev/acme-ml/images/train:1"
  gpu              = { id = "NVIDIA GeForce RTX 4090" }
  registry_auth_id = warren_runpod_registry_auth.images.id
}
