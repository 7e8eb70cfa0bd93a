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

resource "warren_aws_gateway_config" "gateway" {
  name = "/warren/gw-a/config"

  content = <<-EOT
    fabric            = "llm-training"
    name              = "gw-a"
    planned_rate_mbit = 2000

    [listen]
    udp = 51820
    tls = "0.0.0.0:443"

    [keys]
    private_key_file     = "/run/warren/gateway.key"
    certificate_file     = "/run/warren/gateway-tls.pem"
    certificate_key_file = "/run/warren/gateway-tls.pem"
    token_keys           = ["${warren_aws_signing_key.tokens.public_key}"]

    [pool]
    prefixes = ["10.100.0.0/24"]

    [store.embedded]
    path = "/var/lib/warren/leases.redb"

    [[gateways]]
    name = "gw-a"
    key  = "${warren_aws_wireguard_key.gateway.public_key}"
    udp  = "${warren_aws_elastic_ip.gateway.public_ip}:51820"
    tls  = "${warren_aws_elastic_ip.gateway.public_ip}:443"
    pins = ["${warren_aws_tls_key.gateway.public_key}"]

    [dns]
    servers = ["10.20.0.2"]
    domains = ["internal.acme.example"]

    [groups.gpu]
    rate_mbit = 1000

    [[groups.gpu.allow]]
    to        = ["10.20.0.0/16"]
    ports     = ["443", "8000-8100"]
    protocols = ["tcp"]
  EOT

  pod_role_arn = "arn:aws:iam::123456789012:role/warren-pods"

  grants = [
    { group = "gpu", objects = "s3://acme-datasets/llm/", access = "read" },
    { group = "gpu", objects = "s3://acme-checkpoints/run-7/", access = "read-write" },
  ]

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
