ephemeral "warren_enrolment_token" "pods" {
  fabric          = "llm-training"
  group           = "gpu"
  ttl             = "7d"
  signing_key_env = "WARREN_SIGNING_KEY"

  gateways = [{
    name       = "gw-a"
    public_key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
    udp        = "gw-a.example.com:51820"
    tls        = "gw-a.example.com:443"
    pins       = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
  }]
}

resource "warren_runpod_secret" "token" {
  name             = "acme-warren-token"
  description      = "Enrolment token of the training pods"
  value_wo         = ephemeral.warren_enrolment_token.pods.token
  value_wo_version = 1 # raise it to store a new token

  timeouts = {
    create = "5m"
    read   = "5m"
    update = "5m"
    delete = "5m"
  }
}

resource "warren_runpod_pod" "train" {
  name  = "acme-train"
  image = "ghcr.io/acme/train:1"
  gpu   = { id = "NVIDIA GeForce RTX 4090" }
  env   = { WARREN_TOKEN = warren_runpod_secret.token.reference }
}
