resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_subnetwork" "gateways" {
  name          = "acme-gateways"
  network       = warren_gcp_network.hub.id
  ip_cidr_range = "10.0.0.0/24"
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
    udp = "203.0.113.10:51820"
    tls = "203.0.113.10:443"
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

resource "warren_gcp_gateway" "gateway" {
  name            = "acme-gw-a"
  zone            = "us-central1-a"
  image           = "projects/debian-cloud/global/images/family/debian-12"
  subnetwork      = warren_gcp_subnetwork.gateways.id
  service_account = warren_gcp_gateway_service_account.gateway.email
  config          = warren_gcp_gateway_config.gateway.id
  wireguard_key   = warren_gcp_wireguard_key.gateway.id
  tls_key         = warren_gcp_tls_key.gateway.id
}
