# A data source that Terraform reads during the apply, because it depends on a resource that changes.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "main" {
  cidr_block = "10.80.0.0/16"
}

data "aws_vpc" "main" {
  tags       = { Name = "main" }
  depends_on = [aws_vpc.main]
}

resource "aws_subnet" "a" {
  vpc_id     = data.aws_vpc.main.id
  cidr_block = "10.80.0.0/20"
}

resource "aws_subnet" "elsewhere" {
  vpc_id     = data.aws_vpc.main.id
  cidr_block = "10.90.0.0/20"
}
