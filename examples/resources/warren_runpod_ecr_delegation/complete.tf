resource "warren_runpod_ecr_delegation" "train" {
  name           = "acme-train"
  repository_arn = "arn:aws:ecr:us-east-2:111122223333:repository/acme/train"

  timeouts = {
    create = "5m"
    read   = "5m"
    update = "5m"
    delete = "5m"
  }
}

# RunPod compares the repository of the image with its delegations, so the pod needs no credential.
resource "warren_runpod_pod" "train" {
  name  = "acme-train"
  image = "${warren_runpod_ecr_delegation.train.registry}/acme/train:1"
  gpu   = { id = "NVIDIA GeForce RTX 4090" }
}
