resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "hub" {
  name           = "acme-hub"
  vpc_id         = warren_aws_vpc.hub.id
  vpc_cidr_block = warren_aws_vpc.hub.cidr_block
  cidr_block     = "10.20.1.0/24"
}

resource "warren_aws_transit_gateway" "hub" {
  name                            = "acme-hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

resource "warren_aws_transit_gateway_attachment" "hub" {
  name               = "acme-hub"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
  vpc_id             = warren_aws_vpc.hub.id
  subnet_ids         = [warren_aws_subnet.hub.id]
}

resource "warren_aws_transit_gateway_route_table" "spokes" {
  name               = "acme-spokes"
  transit_gateway_id = warren_aws_transit_gateway.hub.id
}

# Traffic of spokes to the internet passes the NAT gateway of the hub.
resource "warren_aws_transit_gateway_route" "internet" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.spokes.id
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.hub.id

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

# Without this route, traffic between spokes would follow the default route, and the hub could send it back.
resource "warren_aws_transit_gateway_route" "spokes" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.spokes.id
  destination_cidr_block         = "10.32.0.0/12"
  blackhole                      = true
}
