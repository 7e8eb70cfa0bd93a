resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "gateways" {
  name          = "acme-gateways"
  network       = warren_gcp_network.hub.id
  ip_cidr_range = "10.0.0.0/24"
}

# Send traffic from tagged VMs to the overlay through a VM that forwards packets.
resource "warren_gcp_route" "overlay" {
  name        = "acme-overlay"
  description = "Overlay network of the pods"
  network     = warren_gcp_network.hub.id
  dest_range  = "10.100.0.0/16"
  next_hop_ip = "10.0.0.10"
  priority    = 900
  tags        = ["training"]

  timeouts = {
    create = "10m"
    delete = "10m"
  }

  depends_on = [warren_gcp_subnetwork.gateways]
}
