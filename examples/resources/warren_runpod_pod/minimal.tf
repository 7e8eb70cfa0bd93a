resource "warren_runpod_pod" "train" {
  name  = "acme-train"
  image = "ghcr.io/acme/train:1"
  gpu   = { id = "NVIDIA GeForce RTX 4090" }
}
