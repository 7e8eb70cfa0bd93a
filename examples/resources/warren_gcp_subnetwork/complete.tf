resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "training" {
  name                     = "acme-training"
  description              = "GKE nodes, pods and services of training jobs"
  network                  = warren_gcp_network.hub.id
  region                   = "us-central1"
  ip_cidr_range            = "10.0.16.0/20"
  private_ip_google_access = true

  secondary_ip_ranges = {
    pods     = "10.1.0.0/16"
    services = "10.0.32.0/22"
  }

  flow_logs = {
    aggregation_interval = "INTERVAL_1_MIN"
    sampling             = 0.1
    metadata             = "INCLUDE_ALL_METADATA"
    filter               = "dest_port == 443"
  }

  timeouts = {
    create = "10m"
    delete = "30m"
  }
}
