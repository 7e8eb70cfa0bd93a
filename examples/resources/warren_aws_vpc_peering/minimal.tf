resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_vpc" "training" {
  name       = "acme-training"
  cidr_block = "10.32.0.0/16"
}

resource "warren_aws_vpc_peering" "training" {
  name        = "acme-hub-training"
  vpc_id      = warren_aws_vpc.hub.id
  peer_vpc_id = warren_aws_vpc.training.id
}
