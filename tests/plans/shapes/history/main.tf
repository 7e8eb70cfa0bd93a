# A team with history: the VPC of one module stays and gets a subnet, that of the other one is replaced.

provider "aws" {
  region = "eu-central-1"
}

variable "subnets" { type = list(string) }
variable "cidr" { type = string }

module "stays" {
  source          = "../../modules/vpc"
  name            = "stays"
  cidr            = "10.110.0.0/16"
  zones           = ["eu-central-1a"]
  public_subnets  = ["10.110.0.0/24"]
  private_subnets = var.subnets
}

module "moves" {
  source          = "../../modules/vpc"
  name            = "moves"
  cidr            = "${var.cidr}.0.0/16"
  zones           = ["eu-central-1a"]
  public_subnets  = ["${var.cidr}.0.0/24"]
  private_subnets = ["${var.cidr}.64.0/18"]
}
