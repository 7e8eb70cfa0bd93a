resource "warren_aws_signing_key" "tokens" {
  name = "/warren/llm-training/tokens"
}
