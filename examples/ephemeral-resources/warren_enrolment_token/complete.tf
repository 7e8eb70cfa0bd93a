variable "token_version" {
  description = "Version of the token. Raise it to store a new token."
  type        = number
  default     = 1
}

ephemeral "warren_enrolment_token" "pods" {
  fabric          = "llm-training"
  group           = "gpu"
  ttl             = "7d"
  uses            = 100
  max_lease       = "14d"
  signing_key_env = "WARREN_SIGNING_KEY" # or signing_key, or signing_key_file

  # Pods try the other gateways if one does not answer.
  gateways = [
    {
      name       = "gw-a"
      public_key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
      udp        = "gw-a.example.com:51820"
      tls        = "gw-a.example.com:443"
      pins       = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
    },
    {
      name       = "gw-b"
      public_key = "xXzI5m7S4qHDvy9bDDQWtBZGai8J3s7iT0Fm2ga3wak="
      udp        = "gw-b.example.com:51820"
      tls        = "gw-b.example.com:443"
      pins = [
        "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ",
        "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU", # the next certificate
      ]
    },
  ]
}

resource "warren_runpod_secret" "token" {
  name             = "acme-warren-token"
  value_wo         = ephemeral.warren_enrolment_token.pods.token
  value_wo_version = var.token_version
}
