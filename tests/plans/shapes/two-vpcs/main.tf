# The same module twice, with the same range: each instance has one VPC of its own.

provider "aws" {
  region = "eu-central-1"
}

module "vpc" {
  source   = "../../modules/vpc"
  for_each = toset(["dev", "prod"])

  name            = each.key
  cidr            = "10.30.0.0/16"
  zones           = ["eu-central-1a"]
  public_subnets  = ["10.30.0.0/24"]
  private_subnets = ["10.30.64.0/18"]
}
