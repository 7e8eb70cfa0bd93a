resource "warren_runpod_network_volume" "data" {
  name        = "acme-data"
  data_center = "US-KS-2"
  size        = 500
}

resource "warren_runpod_cluster" "train" {
  name      = "acme-train"
  type      = "TRAINING"
  pod_count = 2
  image     = "ghcr.io/acme/train:1"
  args      = "torchrun --nnodes=2 train.py"

  gpu = {
    ids   = ["NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090"]
    count = 8
  }

  data_center_ids  = ["US-KS-2"]
  disk             = 100
  ports            = ["22/tcp"]
  env              = { MODE = "train" }
  start_ssh        = true
  start_jupyter    = true
  wait_for_running = true

  network_volume = {
    id   = warren_runpod_network_volume.data.id
    path = "/workspace"
  }

  timeouts = {
    create = "1h"
    read   = "5m"
    update = "30m"
    delete = "10m"
  }
}

output "nodes" {
  description = "Addresses of the pods in the cluster's network, by rank."
  value       = warren_runpod_cluster.train.pods[*].ip
}
