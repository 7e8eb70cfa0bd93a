# A dry run: Google logs what the perimeter would deny.
resource "warren_gcp_service_perimeter" "training" {
  access_policy = "123"
  name          = "training"
  title         = "Training"

  spec = {
    resources           = ["projects/123456789012"]
    restricted_services = ["storage.googleapis.com"]
  }
}
