resource "warren_aws_signing_key" "tokens" {
  name = "/warren/llm-training/tokens"
}

ephemeral "warren_aws_signing_key" "tokens" {
  name = warren_aws_signing_key.tokens.id
}
