variable "project_id" { type = string }
variable "network_name" { type = string }

resource "google_compute_network" "network" {
  name                    = var.network_name
  project                 = var.project_id
  auto_create_subnetworks = false
}

output "network_name" {
  value = google_compute_network.network.name
}
