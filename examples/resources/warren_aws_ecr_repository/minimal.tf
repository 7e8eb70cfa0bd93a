resource "warren_aws_ecr_repository" "trainer" {
  name = "acme/trainer"
}
