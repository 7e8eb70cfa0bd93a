output "ecr_url" {
  description = "URL of the ECR repository, without a tag."
  value       = warren_aws_ecr_repository.image.repository_url
}

output "ecr_arn" {
  description = "ARN of the ECR repository."
  value       = warren_aws_ecr_repository.image.arn
}

output "artifact_registry_uri" {
  description = "URI of the Artifact Registry repository. Append the name of the image."
  value       = warren_gcp_artifact_registry_repository.image.registry_uri
}
