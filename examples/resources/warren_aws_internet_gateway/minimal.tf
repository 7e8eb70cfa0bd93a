resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "acme-hub"
  vpc_id = warren_aws_vpc.hub.id
}
