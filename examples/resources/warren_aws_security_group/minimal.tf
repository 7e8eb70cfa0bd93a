resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_security_group" "endpoints" {
  name   = "acme-hub-endpoints"
  vpc_id = warren_aws_vpc.hub.id

  ingress = [{
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = ["10.20.0.0/16"]
  }]
}
