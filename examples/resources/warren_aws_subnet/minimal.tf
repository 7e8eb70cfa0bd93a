resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private" {
  name       = "acme-hub-private"
  vpc_id     = warren_aws_vpc.hub.id
  cidr_block = "10.20.1.0/24"
}
