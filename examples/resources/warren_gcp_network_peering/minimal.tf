resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_network" "training" {
  name = "acme-training"
}

resource "warren_gcp_network_peering" "hub" {
  name         = "hub-to-training"
  network      = warren_gcp_network.hub.id
  peer_network = warren_gcp_network.training.id
}

resource "warren_gcp_network_peering" "training" {
  name         = "training-to-hub"
  network      = warren_gcp_network.training.id
  peer_network = warren_gcp_network.hub.id

  depends_on = [warren_gcp_network_peering.hub]
}
