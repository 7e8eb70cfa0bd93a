# Subnets in a VPC of another team, which a data source reads.

provider "aws" {
  region = "eu-central-1"
}

data "aws_vpc" "shared" {
  tags = { Name = "shared" }
}

data "aws_subnet" "theirs" {
  vpc_id = data.aws_vpc.shared.id
}

resource "aws_subnet" "inside" {
  vpc_id     = data.aws_vpc.shared.id
  cidr_block = "10.40.64.0/20"
}

resource "aws_subnet" "outside" {
  vpc_id     = data.aws_vpc.shared.id
  cidr_block = "10.41.0.0/20"
}

resource "aws_subnet" "taken" {
  vpc_id     = data.aws_vpc.shared.id
  cidr_block = "10.40.0.128/25"
}

resource "aws_vpc" "mine" {
  cidr_block = "10.40.128.0/17"
}
