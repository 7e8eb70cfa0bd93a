# Terraform forgets the VPC, which stays in the cloud, and the new one overlaps it.

provider "aws" {
  region = "eu-central-1"
}

removed {
  from = aws_vpc.kept

  lifecycle {
    destroy = false
  }
}

resource "aws_vpc" "new" {
  cidr_block = "10.120.128.0/17"
}
