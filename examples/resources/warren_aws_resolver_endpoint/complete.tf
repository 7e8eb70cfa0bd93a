resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private_a" {
  name              = "acme-hub-private-a"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_subnet" "private_b" {
  name              = "acme-hub-private-b"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.2.0/24"
  availability_zone = "us-east-1b"
}

resource "warren_aws_security_group" "dns" {
  name   = "acme-hub-dns"
  vpc_id = warren_aws_vpc.hub.id

  ingress = [
    { protocol = "udp", from_port = 53, to_port = 53, cidr_blocks = ["10.8.0.0/16"] },
    { protocol = "tcp", from_port = 53, to_port = 53, cidr_blocks = ["10.8.0.0/16"] },
  ]
}

# DNS servers on premises forward the names of AWS to these addresses.
resource "warren_aws_resolver_endpoint" "inbound" {
  name               = "acme-hub-inbound"
  direction          = "INBOUND"
  security_group_ids = [warren_aws_security_group.dns.id]

  ip_addresses = [
    { subnet_id = warren_aws_subnet.private_a.id, ip = "10.20.1.53" },
    { subnet_id = warren_aws_subnet.private_b.id, ip = "10.20.2.53" },
  ]

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
