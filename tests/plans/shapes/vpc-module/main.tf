# The shape of the most widely used VPC module: everything in it names its VPC by a local value.

provider "aws" {
  region = "eu-central-1"
}

module "vpc" {
  source = "../../modules/vpc"

  name            = "prod"
  cidr            = "10.20.0.0/16"
  secondary       = ["100.64.0.0/20"]
  zones           = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  public_subnets  = ["10.20.0.0/22", "10.20.4.0/22", "10.20.8.0/22"]
  private_subnets = ["10.20.64.0/19", "10.20.96.0/19", "10.21.128.0/19"]
}

resource "aws_ec2_transit_gateway" "core" {
  description = "core"
}

resource "aws_ec2_transit_gateway_vpc_attachment" "prod" {
  transit_gateway_id = aws_ec2_transit_gateway.core.id
  vpc_id             = module.vpc.vpc_id
  subnet_ids         = module.vpc.private_subnets
}
