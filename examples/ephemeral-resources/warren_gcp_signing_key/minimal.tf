resource "warren_gcp_signing_key" "tokens" {
  name = "acme-enrolment-tokens"
}

ephemeral "warren_gcp_signing_key" "tokens" {
  secret = warren_gcp_signing_key.tokens.id
}
