resource "warren_gcp_signing_key" "tokens" {
  name = "acme-enrolment-tokens"
}

resource "warren_gcp_wireguard_key" "gateway" {
  name = "acme-gw-a-wireguard"
}

resource "warren_gcp_tls_key" "gateway" {
  name = "acme-gw-a-tls"
}

ephemeral "warren_gcp_signing_key" "tokens" {
  secret  = warren_gcp_signing_key.tokens.id
  version = warren_gcp_signing_key.tokens.version
}

ephemeral "warren_enrolment_token" "pods" {
  fabric      = "llm-training"
  group       = "gpu"
  ttl         = "24h"
  signing_key = ephemeral.warren_gcp_signing_key.tokens.secret_key

  gateways = [{
    name       = "gw-a"
    public_key = warren_gcp_wireguard_key.gateway.public_key
    udp        = "203.0.113.10:51820"
    tls        = "203.0.113.10:443"
    pins       = [warren_gcp_tls_key.gateway.public_key]
  }]
}
