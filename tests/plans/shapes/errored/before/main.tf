# What exists before a plan that fails.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "old" {
  cidr_block = "10.130.0.0/16"
}
