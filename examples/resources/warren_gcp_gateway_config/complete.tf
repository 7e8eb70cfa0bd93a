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
  name              = "acme-gw-a-config"
  replica_locations = ["us-central1"]
  labels            = { team = "platform" }

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

    [groups.gpu]
    rate_mbit = 2000

    [[groups.gpu.allow]]
    to = ["10.0.0.0/16"]
    ports = ["443", "8000-8100"]
    protocols = ["tcp"]
  EOT

  grants = [{ group = "gpu", objects = "gs://acme-datasets/llm/", access = "read" }]

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}
