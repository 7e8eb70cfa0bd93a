resource "warren_runpod_network_volume" "checkpoints" {
  name        = "acme-checkpoints"
  data_center = "EU-RO-1"
  size        = 500
  type        = "HIGH_PERFORMANCE"

  timeouts = {
    create = "10m"
    read   = "5m"
    update = "10m"
    delete = "10m"
  }
}

resource "warren_runpod_pod" "train" {
  count = 2

  name  = "acme-train-${count.index}"
  image = "ghcr.io/acme/train:1"
  gpu   = { id = "NVIDIA GeForce RTX 4090" }

  network_volume = {
    id   = warren_runpod_network_volume.checkpoints.id
    path = "/workspace"
  }
}
