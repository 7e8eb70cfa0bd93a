# A module that creates its VPC or uses an existing one: a local value holds the resource or the data source.

provider "aws" {
  region = "eu-central-1"
}

module "new" {
  source  = "./modules/network"
  cidr    = "10.70.0.0/16"
  subnets = { app = "10.70.0.0/20", db = "10.70.16.0/20" }
}

module "given" {
  source  = "./modules/network"
  vpc_id  = "vpc-shared"
  cidr    = "10.40.0.0/16"
  subnets = { app = "10.40.16.0/20", db = "10.41.0.0/20" }
}
