resource "warren_gcp_wireguard_key" "gateway" {
  name     = "acme-gw-a-wireguard"
  rotation = "2026-11"
  labels   = { team = "platform" }

  # Keep the private key in one region, encrypted with a key of your own.
  replica_locations = ["us-central1"]
  kms_key_name      = "projects/acme-ml/locations/us-central1/keyRings/acme/cryptoKeys/secrets"

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

# Accept the previous key until every peer has the new one.
output "public_keys" {
  description = "The current and the previous public key."
  value = compact([
    warren_gcp_wireguard_key.gateway.public_key,
    warren_gcp_wireguard_key.gateway.previous_public_key,
  ])
}
