resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_route_table" "private" {
  name   = "acme-hub-private"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_vpc_endpoint" "s3" {
  name            = "acme-hub-s3"
  vpc_id          = warren_aws_vpc.hub.id
  service         = "s3"
  route_table_ids = [warren_aws_route_table.private.id]
}
