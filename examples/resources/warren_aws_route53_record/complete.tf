resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private" {
  name              = "acme-hub-private"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_security_group" "endpoints" {
  name   = "acme-hub-endpoints"
  vpc_id = warren_aws_vpc.hub.id

  ingress = [{
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = ["10.0.0.0/8"]
  }]
}

resource "warren_aws_route53_zone" "ecr_api" {
  name        = "acme-ecr-api"
  domain_name = "api.ecr.us-east-1.amazonaws.com"
  vpcs        = [{ vpc_id = warren_aws_vpc.hub.id }]
}

resource "warren_aws_vpc_endpoint" "ecr_api" {
  name                = "acme-hub-ecr-api"
  vpc_id              = warren_aws_vpc.hub.id
  service             = "ecr.api"
  subnet_ids          = [warren_aws_subnet.private.id]
  security_group_ids  = [warren_aws_security_group.endpoints.id]
  private_dns_enabled = false

  # Terraform plans the zone first, so that the plan can check that it exists.
  depends_on = [warren_aws_route53_zone.ecr_api]
}

# The name of the service answers with the addresses of the endpoint, in every VPC that the zone is associated with.
resource "warren_aws_route53_record" "ecr_api" {
  zone_id = warren_aws_route53_zone.ecr_api.id
  name    = "api.ecr.us-east-1.amazonaws.com"
  type    = "A"

  alias = {
    dns_name               = warren_aws_vpc_endpoint.ecr_api.dns_entries[0].dns_name
    zone_id                = warren_aws_vpc_endpoint.ecr_api.dns_entries[0].hosted_zone_id
    evaluate_target_health = false
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

resource "warren_aws_route53_record" "wildcard" {
  zone_id = warren_aws_route53_zone.ecr_api.id
  name    = "*.api.ecr.us-east-1.amazonaws.com"
  type    = "TXT"
  ttl     = 60
  records = ["\"not an endpoint\""]
}
