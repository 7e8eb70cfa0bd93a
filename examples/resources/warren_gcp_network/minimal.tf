resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}
