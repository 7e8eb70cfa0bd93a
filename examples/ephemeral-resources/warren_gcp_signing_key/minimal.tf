resource "warren_gcp_signing_key" "tokens" {
  name = "acme-enrolment-tokens"
}

# The reference to `version` makes Terraform create the key before it reads it.
ephemeral "warren_gcp_signing_key" "tokens" {
  secret  = warren_gcp_signing_key.tokens.id
  version = warren_gcp_signing_key.tokens.version
}
