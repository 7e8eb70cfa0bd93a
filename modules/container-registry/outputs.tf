output "ecr_url" {
  description = "Where the image is pushed in AWS, without a tag."
  value       = warren_aws_ecr_repository.image.repository_url
}

output "ecr_arn" {
  description = "ARN of the repository in ECR."
  value       = warren_aws_ecr_repository.image.arn
}

output "artifact_registry_uri" {
  description = "Where the image is pushed in Google Cloud: a folder of images."
  value       = warren_gcp_artifact_registry_repository.image.registry_uri
}
