# Ranges that services of Google Cloud occupy in a network, and an auto-mode network.

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
  ip_cidr_range = "10.160.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.164.0.0/14"
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.161.0.0/20"
  }
}

resource "google_vpc_access_connector" "run" {
  name          = "run"
  network       = google_compute_network.main.name
  ip_cidr_range = "10.160.0.16/28"
}

resource "google_compute_global_address" "psa" {
  name          = "psa"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  address       = "10.168.0.0"
  prefix_length = 16
  network       = google_compute_network.main.id
}

resource "google_service_networking_connection" "psa" {
  network                 = google_compute_network.main.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.psa.name]
}

resource "google_redis_instance" "cache" {
  name               = "cache"
  memory_size_gb     = 1
  authorized_network = google_compute_network.main.id
  connect_mode       = "DIRECT_PEERING"
  reserved_ip_range  = "10.161.0.0/29"
}

resource "google_redis_instance" "inside" {
  name               = "inside"
  memory_size_gb     = 1
  authorized_network = google_compute_network.main.id
  connect_mode       = "PRIVATE_SERVICE_ACCESS"
  reserved_ip_range  = "10.168.0.0/29"
}

resource "google_filestore_instance" "share" {
  name = "share"
  tier = "BASIC_HDD"

  networks {
    network           = google_compute_network.main.name
    modes             = ["MODE_IPV4"]
    reserved_ip_range = "10.160.8.0/29"
  }
}

resource "google_sql_database_instance" "db" {
  name             = "db"
  database_version = "POSTGRES_16"

  settings {
    tier = "db-f1-micro"

    ip_configuration {
      ipv4_enabled       = false
      private_network    = google_compute_network.main.id
      allocated_ip_range = google_compute_global_address.psa.name
    }
  }
}

resource "google_container_cluster" "main" {
  name       = "main"
  location   = "europe-west4"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.nodes.id

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }

  private_cluster_config {
    enable_private_nodes   = true
    master_ipv4_cidr_block = "10.160.1.0/28"
  }
}

resource "google_compute_network" "auto" {
  name                    = "auto"
  auto_create_subnetworks = true
}

resource "google_compute_subnetwork" "extra" {
  name          = "extra"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.170.0.0/20"
}
