resource "warren_gcp_artifact_registry_repository" "images" {
  name               = "acme-images"
  location           = "us"
  format             = "DOCKER"
  description        = "Images of training pods"
  immutable_tags     = true
  scan_on_push       = true
  keep_last_versions = 20
  kms_key_name       = "projects/acme-ml/locations/us/keyRings/acme/cryptoKeys/images"
  labels             = { team = "ml" }

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

output "registry" {
  description = "Prefix of the names of images in the repository."
  value       = warren_gcp_artifact_registry_repository.images.registry_uri
}
