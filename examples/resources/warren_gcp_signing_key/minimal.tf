resource "warren_gcp_signing_key" "tokens" {
  name = "acme-enrolment-tokens"
}
