resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "gateways" {
  name          = "acme-gateways"
  network       = warren_gcp_network.hub.id
  ip_cidr_range = "10.0.0.0/24"
}

resource "warren_gcp_firewall" "tunnel" {
  name          = "acme-tunnel"
  network       = warren_gcp_network.hub.id
  source_ranges = ["0.0.0.0/0"]
  target_tags   = ["gateway"]

  allow = [
    { protocol = "udp", ports = ["51820"] },
    { protocol = "tcp", ports = ["443"] },
  ]
}

resource "warren_gcp_address" "gateway" {
  name = "acme-gw-a"
}

resource "warren_gcp_signing_key" "tokens" {
  name = "acme-enrolment-tokens"
}

resource "warren_gcp_wireguard_key" "gateway" {
  name = "acme-gw-a-wireguard"
}

resource "warren_gcp_tls_key" "gateway" {
  name = "acme-gw-a-tls"
}

resource "warren_gcp_gateway_config" "gateway" {
  name = "acme-gw-a-config"

  content = <<-EOT
    fabric = "llm-training"
    name = "gw-a"

    [listen]
    udp = 51820
    tls = "0.0.0.0:443"

    [keys]
    private_key_file = "/run/warren/gateway.key"
    certificate_file = "/run/warren/gateway-tls.pem"
    certificate_key_file = "/run/warren/gateway-tls.pem"
    token_keys = ["${warren_gcp_signing_key.tokens.public_key}"]

    [pool]
    prefixes = ["10.100.0.0/17"]

    [store.embedded]
    path = "/var/lib/warren/leases.redb"

    [[gateways]]
    name = "gw-a"
    key = "${warren_gcp_wireguard_key.gateway.public_key}"
    udp = "${warren_gcp_address.gateway.address}:51820"
    tls = "${warren_gcp_address.gateway.address}:443"
    pins = ["${warren_gcp_tls_key.gateway.public_key}"]
  EOT
}

resource "warren_gcp_gateway_service_account" "gateway" {
  name = "acme-gw-a"

  secrets = [
    warren_gcp_gateway_config.gateway.id,
    warren_gcp_wireguard_key.gateway.id,
    warren_gcp_tls_key.gateway.id,
  ]
}

# The image contains warren-tunnel in /usr/local/bin.
resource "warren_gcp_gateway_group" "gateway" {
  name            = "acme-gw-a"
  zone            = "us-central1-a"
  image           = "projects/acme-ml/global/images/gateway-7"
  subnetwork      = warren_gcp_subnetwork.gateways.id
  address         = warren_gcp_address.gateway.id
  service_account = warren_gcp_gateway_service_account.gateway.email
  tags            = ["gateway"]
  config          = warren_gcp_gateway_config.gateway.id
  wireguard_key   = warren_gcp_wireguard_key.gateway.id
  tls_key         = warren_gcp_tls_key.gateway.id
}
