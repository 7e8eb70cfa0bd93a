resource "warren_aws_signing_key" "tokens" {
  name = "/warren/llm-training/tokens"
}

resource "warren_aws_wireguard_key" "gateway" {
  name = "/warren/gw-a/wireguard"
}

resource "warren_aws_tls_key" "gateway" {
  name = "/warren/gw-a/tls"
}

resource "warren_aws_elastic_ip" "gateway" {
  name = "acme-gw-a"
}

ephemeral "warren_aws_signing_key" "tokens" {
  name    = warren_aws_signing_key.tokens.id
  version = warren_aws_signing_key.tokens.version
}

# Signs an enrolment token without writing the private key to the plan or the state.
ephemeral "warren_enrolment_token" "pods" {
  fabric      = "llm-training"
  group       = "gpu"
  ttl         = "7d"
  signing_key = ephemeral.warren_aws_signing_key.tokens.secret_key

  gateways = [{
    name       = "gw-a"
    public_key = warren_aws_wireguard_key.gateway.public_key
    udp        = "${warren_aws_elastic_ip.gateway.public_ip}:51820"
    tls        = "${warren_aws_elastic_ip.gateway.public_ip}:443"
    pins       = [warren_aws_tls_key.gateway.public_key]
  }]
}
