resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

# Deny all ingress that no other rule allows, and log it.
resource "warren_gcp_firewall" "baseline" {
  name          = "acme-deny-ingress"
  description   = "Baseline: deny all ingress"
  network       = warren_gcp_network.hub.id
  direction     = "INGRESS"
  priority      = 65534
  source_ranges = ["0.0.0.0/0"]
  deny          = [{ protocol = "all" }]
  log_metadata  = "EXCLUDE_ALL_METADATA"
}

# Allow the tunnel to reach the gateways.
resource "warren_gcp_firewall" "tunnel" {
  name          = "acme-tunnel"
  description   = "WireGuard and TLS from the internet to the gateways"
  network       = warren_gcp_network.hub.id
  direction     = "INGRESS"
  priority      = 1000
  source_ranges = ["0.0.0.0/0"]
  target_tags   = ["gateway"]
  disabled      = false

  allow = [
    { protocol = "udp", ports = ["51820"] },
    { protocol = "tcp", ports = ["443"] },
  ]

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

# Let training VMs reach the data network only.
resource "warren_gcp_firewall" "egress" {
  name                    = "acme-training-egress"
  description             = "Training VMs to the data network"
  network                 = warren_gcp_network.hub.id
  direction               = "EGRESS"
  destination_ranges      = ["10.0.0.0/8"]
  target_service_accounts = ["trainer@acme-ml.iam.gserviceaccount.com"]
  allow                   = [{ protocol = "tcp", ports = ["443", "8000-8100"] }]
  log_metadata            = "INCLUDE_ALL_METADATA"
}
