variable "image_id" {
  description = "ID of an image with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_internet_gateway" "hub" {
  name   = "acme-hub"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_subnet" "public" {
  name              = "acme-hub-public"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.0.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_route_table" "public" {
  name       = "acme-hub-public"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.public.id]

  routes = [{
    destination_cidr_block = "0.0.0.0/0"
    gateway_id             = warren_aws_internet_gateway.hub.id
  }]
}

resource "warren_aws_security_group" "gateway" {
  name                 = "acme-gateway"
  vpc_id               = warren_aws_vpc.hub.id
  allow_public_ingress = true

  ingress = [
    { protocol = "udp", from_port = 51820, to_port = 51820, cidr_blocks = ["0.0.0.0/0"], description = "WireGuard" },
    { protocol = "tcp", from_port = 443, to_port = 443, cidr_blocks = ["0.0.0.0/0"], description = "Enrolment, WireGuard over TLS" },
    { protocol = "-1", cidr_blocks = ["10.20.0.0/16"], description = "From the VPC to peers" },
  ]

  egress = [{ protocol = "-1", cidr_blocks = ["0.0.0.0/0"], description = "All outbound traffic" }]
}

resource "warren_aws_signing_key" "tokens" {
  name = "/warren/llm-training/tokens"
}

resource "warren_aws_wireguard_key" "gateway" {
  name = "/warren/gw-a/wireguard"
}

resource "warren_aws_tls_key" "gateway" {
  name = "/warren/gw-a/tls"
}

resource "warren_aws_elastic_ip" "gateway" {
  name = "acme-gw-a"
}

resource "warren_aws_gateway_config" "gateway" {
  name = "/warren/gw-a/config"

  content = <<-EOT
    fabric = "llm-training"
    name   = "gw-a"

    [listen]
    udp = 51820
    tls = "0.0.0.0:443"

    [keys]
    private_key_file     = "/run/warren/gateway.key"
    certificate_file     = "/run/warren/gateway-tls.pem"
    certificate_key_file = "/run/warren/gateway-tls.pem"
    token_keys           = ["${warren_aws_signing_key.tokens.public_key}"]

    [pool]
    prefixes = ["10.100.0.0/24"]

    [store.embedded]
    path = "/var/lib/warren/leases.redb"

    [[gateways]]
    name = "gw-a"
    key  = "${warren_aws_wireguard_key.gateway.public_key}"
    udp  = "${warren_aws_elastic_ip.gateway.public_ip}:51820"
    tls  = "${warren_aws_elastic_ip.gateway.public_ip}:443"
    pins = ["${warren_aws_tls_key.gateway.public_key}"]
  EOT
}

resource "warren_aws_gateway_role" "gateway" {
  name = "acme-gw-a"
  parameters = [
    warren_aws_gateway_config.gateway.name,
    warren_aws_tls_key.gateway.name,
    warren_aws_wireguard_key.gateway.name,
  ]
}

resource "warren_aws_gateway" "gateway" {
  name                 = "acme-gw-a"
  image_id             = var.image_id
  instance_type        = "c6in.xlarge"
  subnet_id            = warren_aws_subnet.public.id
  private_ip           = "10.20.0.10"
  security_group_ids   = [warren_aws_security_group.gateway.id]
  instance_profile_arn = warren_aws_gateway_role.gateway.instance_profile_arn
  allocation_id        = warren_aws_elastic_ip.gateway.id
  disk_gib             = 16
  kms_key_id           = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
  config               = warren_aws_gateway_config.gateway.name
  wireguard_key        = warren_aws_wireguard_key.gateway.name
  tls_key              = warren_aws_tls_key.gateway.name

  release = {
    url    = "https://downloads.acme.example/warren-tunnel"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    architecture = "x86_64"
  }

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "gateway_address" {
  value = warren_aws_gateway.gateway.public_ip
}
