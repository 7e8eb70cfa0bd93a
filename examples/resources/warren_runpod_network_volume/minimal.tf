resource "warren_runpod_network_volume" "data" {
  name        = "acme-data"
  data_center = "EU-RO-1"
  size        = 100
}
