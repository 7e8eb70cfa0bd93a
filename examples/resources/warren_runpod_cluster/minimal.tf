resource "warren_runpod_cluster" "train" {
  name      = "acme-train"
  type      = "TRAINING"
  pod_count = 2
  image     = "ghcr.io/acme/train:1"
  gpu       = { id = "NVIDIA H100 80GB HBM3", count = 8 }
}
