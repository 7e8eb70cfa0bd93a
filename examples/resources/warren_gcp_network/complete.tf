resource "warren_gcp_network" "hub" {
  name                  = "acme-hub"
  description           = "Hub of the training network"
  routing_mode          = "GLOBAL"
  mtu                   = 8896
  delete_default_routes = true

  timeouts = {
    create = "10m"
    read   = "5m"
    update = "10m"
    delete = "10m"
  }
}
