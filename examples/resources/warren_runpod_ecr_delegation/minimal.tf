resource "warren_runpod_ecr_delegation" "train" {
  name           = "acme-train"
  repository_arn = "arn:aws:ecr:us-east-2:111122223333:repository/acme/train"
}
