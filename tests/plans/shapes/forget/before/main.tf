# A VPC that Terraform forgets later.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "kept" {
  cidr_block = "10.120.0.0/16"
}
