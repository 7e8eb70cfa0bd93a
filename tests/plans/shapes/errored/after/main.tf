# The plan ends with an error, so it is not complete.

provider "aws" {
  region = "eu-central-1"
}

resource "aws_vpc" "old" {
  cidr_block = "10.130.0.0/16"

  depends_on = [terraform_data.gate]
}

resource "aws_vpc" "new" {
  cidr_block = "10.130.128.0/17"
}

variable "open" {
  type    = bool
  default = false
}

resource "terraform_data" "gate" {
  lifecycle {
    precondition {
      condition     = var.open
      error_message = "The gate is closed."
    }
  }
}
