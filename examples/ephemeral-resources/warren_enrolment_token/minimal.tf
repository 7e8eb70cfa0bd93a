ephemeral "warren_enrolment_token" "pods" {
  fabric          = "llm-training"
  group           = "gpu"
  signing_key_env = "WARREN_SIGNING_KEY"

  gateways = [{
    name       = "gw-a"
    public_key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
    tls        = "gw-a.example.com:443"
    pins       = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
  }]
}

resource "warren_runpod_secret" "token" {
  name             = "acme-warren-token"
  value_wo         = ephemeral.warren_enrolment_token.pods.token
  value_wo_version = 1 # raise it to store a new token
}
