variable "wandb_api_key" {
  description = "API key to store at RunPod."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = "0123456789abcdef"
}

variable "enrolment_token" {
  description = "Enrolment token of the tunnel."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = "v4.public.example"
}

variable "registry_password" {
  description = "Password or token of the container registry."
  type        = string
  sensitive   = true
  ephemeral   = true
}

resource "warren_runpod_secret" "wandb" {
  name     = "acme-wandb-api-key"
  value_wo = var.wandb_api_key
}

resource "warren_runpod_registry_auth" "images" {
  name                = "acme-images"
  username            = "acme"
  password_wo         = var.registry_password
  password_wo_version = 1

  lifecycle {
    create_before_destroy = true
  }
}

resource "warren_runpod_network_volume" "data" {
  name        = "acme-data"
  data_center = "EU-RO-1"
  size        = 500
}

# A GPU pod with a private image, shared data and a secret in its environment.
resource "warren_runpod_pod" "train" {
  name             = "acme-train"
  image            = "ghcr.io/acme/train:1"
  args             = "python train.py --config base.yaml"
  registry_auth_id = warren_runpod_registry_auth.images.id

  gpu = {
    id                    = "NVIDIA A100 80GB PCIe"
    count                 = 2
    allowed_cuda_versions = ["12.8", "12.9"]
  }

  cloud             = "SECURE"
  data_center_ids   = ["EU-RO-1"]
  disk              = 100
  ports             = ["22/tcp", "8888/http"]
  global_networking = true
  start_ssh         = true
  start_jupyter     = true
  locked            = true
  desired_status    = "RUNNING"
  when_stopped      = "replace"
  wait_for_running  = true

  env = {
    MODE          = "train"
    WANDB_API_KEY = warren_runpod_secret.wandb.reference
  }
  env_wo         = { WARREN_TOKEN = var.enrolment_token }
  env_wo_version = 1

  network_volume = {
    id   = warren_runpod_network_volume.data.id
    path = "/workspace"
  }

  timeouts = {
    create = "30m"
    read   = "5m"
    update = "30m"
    delete = "10m"
  }
}

# A GPU pod with a volume on its machine and a minimum CUDA version, on the first GPU type and data center with stock.
resource "warren_runpod_pod" "evaluate" {
  name  = "acme-evaluate"
  image = "ghcr.io/acme/evaluate:1"

  gpu = {
    ids              = ["NVIDIA GeForce RTX 4090", "NVIDIA A100 80GB PCIe"]
    min_cuda_version = "12.4"
  }

  data_center_ids = ["US-KS-2", "EU-RO-1"]

  persistent_volume = {
    size = 20
    path = "/workspace"
  }
}

# A pod without a GPU.
resource "warren_runpod_pod" "prepare" {
  name  = "acme-prepare"
  image = "ghcr.io/acme/prepare:1"

  cpu = {
    id         = "cpu5c"
    vcpu_count = 4
  }
}
