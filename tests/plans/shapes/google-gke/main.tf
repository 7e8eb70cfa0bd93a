# Clusters that exist: Google reports ranges that subnetworks hold.

variable "channel" { type = string }

provider "google" {
  project = "acme"
  region  = "europe-west4"
}

resource "google_compute_network" "main" {
  name                    = "main"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.170.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.172.0.0/14"
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.171.0.0/20"
  }
}

resource "google_compute_subnetwork" "control" {
  name          = "control"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.170.16.0/28"
}

# The names of secondary ranges are configured, and the control plane is in a subnetwork.
resource "google_container_cluster" "named" {
  name       = "named"
  location   = "europe-west4"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.nodes.id

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }

  private_cluster_config {
    enable_private_nodes        = true
    private_endpoint_subnetwork = google_compute_subnetwork.control.id
  }

  release_channel {
    channel = var.channel
  }
}

resource "google_compute_subnetwork" "chosen" {
  name          = "chosen"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.170.32.0/20"

  lifecycle {
    ignore_changes = [secondary_ip_range]
  }
}

# Google chooses the ranges of these clusters: pods in a secondary range of the subnetwork, services in a range of its own.
resource "google_container_cluster" "chosen" {
  for_each   = toset(["one", "two"])
  name       = each.key
  location   = "europe-west4"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.chosen.id

  ip_allocation_policy {
  }

  private_cluster_config {
    enable_private_nodes   = true
    master_ipv4_cidr_block = each.key == "one" ? "10.170.48.0/28" : "10.170.48.16/28"
  }

  release_channel {
    channel = var.channel
  }
}
