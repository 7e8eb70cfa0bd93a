resource "warren_gcp_artifact_registry_repository" "images" {
  name = "acme-images"
}
