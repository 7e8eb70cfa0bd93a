resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_vpc" "training" {
  name       = "acme-training"
  cidr_block = "10.32.0.0/16"
}

# The name of an endpoint of ECR that both VPCs share.
resource "warren_aws_route53_zone" "ecr_api" {
  name        = "acme-ecr-api"
  domain_name = "api.ecr.us-east-1.amazonaws.com"
  comment     = "Endpoint of ECR in the hub"

  vpcs = [
    { vpc_id = warren_aws_vpc.hub.id },
    { vpc_id = warren_aws_vpc.training.id, region = "us-east-1" },
  ]

  # VPCs of other accounts, which create a warren_aws_route53_zone_association.
  authorized_vpcs = [{ vpc_id = "vpc-0f1e2d3c4b5a69788", region = "us-east-1" }]

  force_destroy = true

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
