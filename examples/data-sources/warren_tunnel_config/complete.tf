data "warren_tunnel_config" "agent" {
  # Environment variables for a container platform that substitutes the token.
  token_reference = "{{ RUNPOD_SECRET_acme-warren-token }}"

  device     = "user"
  carrier    = "auto"
  socks5     = "127.0.0.1:1080"
  http_proxy = "127.0.0.1:3128"
  dns        = "127.0.0.1:5353"
  forwards   = ["127.0.0.1:5432=db.internal.example:5432"]
  reverse    = ["8265=127.0.0.1:8265"]
  direct     = false
  metrics    = "127.0.0.1:9586"

  kubernetes = {
    image       = "ghcr.io/acme/warren-tunnel:1"
    secret_name = "warren-tunnel"
    secret_key  = "token"
  }

  cloud_init = {
    binary_url    = "https://releases.example.com/warren-tunnel"
    binary_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    token_command = "aws ssm get-parameter --name /warren/token --with-decryption --query Parameter.Value --output text"
  }
}

# A peer with a static configuration, without enrolment.
data "warren_tunnel_config" "site" {
  wireguard = {
    addresses        = ["10.100.0.7/32"]
    dns              = ["10.0.0.2", "internal.example"]
    mtu              = 1420
    private_key_file = "/etc/warren/private.key"

    peers = [{
      public_key           = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
      endpoint             = "gw-a.example.com:51820"
      allowed_ips          = ["10.0.0.0/16"]
      persistent_keepalive = 25
      tls_endpoint         = "gw-a.example.com:443"
      tls_pin              = "sha256//AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="
    }]
  }
}

output "kubernetes_sidecar" {
  value = data.warren_tunnel_config.agent.kubernetes_sidecar
}

output "user_data" {
  value = data.warren_tunnel_config.agent.cloud_config
}

output "proxy_environment" {
  value = data.warren_tunnel_config.agent.proxy_environment
}

output "wg_quick" {
  value = data.warren_tunnel_config.site.wg_quick
}
