resource "warren_aws_ecr_repository" "trainer" {
  name                 = "acme/trainer"
  image_tag_mutability = "IMMUTABLE"
  scan_on_push         = true
  encryption_type      = "KMS"
  kms_key              = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
  keep_last_images     = 20
  force_delete         = true

  repository_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "PullFromTheTrainingAccount"
      Effect    = "Allow"
      Principal = { AWS = "arn:aws:iam::210987654321:root" }
      Action    = ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    }]
  })

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "repository_url" {
  value = warren_aws_ecr_repository.trainer.repository_url
}
