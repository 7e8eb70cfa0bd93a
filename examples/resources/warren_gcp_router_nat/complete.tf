resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "training" {
  name          = "acme-training"
  network       = warren_gcp_network.hub.id
  ip_cidr_range = "10.0.16.0/20"
}

resource "warren_gcp_address" "nat" {
  name = "acme-nat"
}

resource "warren_gcp_router_nat" "egress" {
  name             = "acme-egress"
  description      = "Internet access of training VMs"
  network          = warren_gcp_network.hub.id
  region           = "us-central1"
  subnetworks      = [warren_gcp_subnetwork.training.id]
  nat_ips          = [warren_gcp_address.nat.self_link]
  min_ports_per_vm = 64
  max_ports_per_vm = 4096
  log_filter       = "ERRORS_ONLY"

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}
