resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_vpc" "training" {
  name       = "acme-training"
  cidr_block = "10.32.0.0/16"
}

resource "warren_aws_route53_zone" "internal" {
  name        = "acme-internal"
  domain_name = "acme.internal"
  vpcs        = [{ vpc_id = warren_aws_vpc.hub.id }]
}

resource "warren_aws_route53_zone_association" "training" {
  zone_id    = warren_aws_route53_zone.internal.id
  vpc_id     = warren_aws_vpc.training.id
  vpc_region = "us-east-1"

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
