resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_vpc" "training" {
  name       = "acme-training"
  cidr_block = "10.32.0.0/16"
}

resource "warren_aws_vpc_peering" "training" {
  name          = "acme-hub-training"
  vpc_id        = warren_aws_vpc.hub.id
  peer_vpc_id   = warren_aws_vpc.training.id
  peer_owner_id = warren_aws_vpc.training.owner_id
  peer_region   = "us-east-1"
  auto_accept   = true

  allow_remote_dns_resolution = true

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

# Both VPCs need a route to the other one.
resource "warren_aws_route_table" "hub" {
  name   = "acme-hub"
  vpc_id = warren_aws_vpc.hub.id

  routes = [{
    destination_cidr_block    = warren_aws_vpc.training.cidr_block
    vpc_peering_connection_id = warren_aws_vpc_peering.training.id
  }]
}

resource "warren_aws_route_table" "training" {
  name   = "acme-training"
  vpc_id = warren_aws_vpc.training.id

  routes = [{
    destination_cidr_block    = warren_aws_vpc.hub.cidr_block
    vpc_peering_connection_id = warren_aws_vpc_peering.training.id
  }]
}
