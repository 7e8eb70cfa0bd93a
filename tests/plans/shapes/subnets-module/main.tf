# One module creates the VPC, another one its subnets. A local value repeats the argument.

provider "aws" {
  region = "eu-central-1"
}

module "vpc" {
  source = "./modules/vpc"
  cidr   = "10.60.0.0/16"
}

module "other" {
  source = "./modules/vpc"
  cidr   = "10.61.0.0/16"
}

module "subnets" {
  source = "./modules/subnets"
  vpc_id = module.vpc.vpc_id
  cidrs  = { a = "10.60.0.0/20", b = "10.60.16.0/20", c = "10.62.0.0/20" }
}
