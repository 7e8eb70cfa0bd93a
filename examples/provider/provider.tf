terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform"

  aws    = { region = "us-east-1" }
  gcp    = { project = "acme-ml", region = "us-central1" }
  runpod = {} # RUNPOD_API_KEY
}

# The ranges of all networks, known at plan time.
resource "warren_address_plan" "main" {
  pools    = { aws = ["172.16.0.0/12"] }
  networks = { training = { pool = "aws", prefix = 16, subnets = { ml = { prefix = 24 } } } }
}

resource "warren_aws_vpc" "training" {
  name       = "training"
  cidr_block = warren_address_plan.main.cidrs["training"]
}
