resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_network" "training" {
  name = "acme-training"
}

# The hub exports its custom routes, such as those to the overlay, and the spoke imports them.
resource "warren_gcp_network_peering" "hub" {
  name                 = "hub-to-training"
  network              = warren_gcp_network.hub.id
  peer_network         = warren_gcp_network.training.id
  export_custom_routes = true
  import_custom_routes = false

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

resource "warren_gcp_network_peering" "training" {
  name                 = "training-to-hub"
  network              = warren_gcp_network.training.id
  peer_network         = warren_gcp_network.hub.id
  export_custom_routes = false
  import_custom_routes = true

  depends_on = [warren_gcp_network_peering.hub]
}
