variable "key_rotation" {
  description = "Label of the current key. Change it to generate a new key."
  type        = string
  default     = "2026-11"
}

resource "warren_aws_wireguard_key" "gateway" {
  name       = "/warren/gw-a/wireguard"
  rotation   = var.key_rotation
  kms_key_id = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

# While a rotation is in progress, accept both keys.
output "public_keys" {
  value = compact([
    warren_aws_wireguard_key.gateway.public_key,
    warren_aws_wireguard_key.gateway.previous_public_key,
  ])
}
