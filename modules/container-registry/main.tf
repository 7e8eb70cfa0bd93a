resource "warren_aws_ecr_repository" "image" {
  name                 = var.name
  image_tag_mutability = "IMMUTABLE"
  scan_on_push         = true
  encryption_type      = var.aws_kms_key_arn == null ? "AES256" : "KMS"
  kms_key              = var.aws_kms_key_arn
  keep_last_images     = var.keep_last_images
  tags                 = var.tags
}

resource "warren_gcp_artifact_registry_repository" "image" {
  name               = var.name
  location           = var.location
  immutable_tags     = true
  scan_on_push       = true
  keep_last_versions = var.keep_last_images
  kms_key_name       = var.gcp_kms_key_name
  labels             = var.labels
}
