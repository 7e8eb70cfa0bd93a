resource "warren_aws_transit_gateway" "hub" {
  name = "acme-hub"
}
