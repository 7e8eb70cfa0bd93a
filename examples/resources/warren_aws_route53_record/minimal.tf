resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_route53_zone" "internal" {
  name        = "acme-internal"
  domain_name = "acme.internal"
  vpcs        = [{ vpc_id = warren_aws_vpc.hub.id }]
}

resource "warren_aws_route53_record" "storage" {
  zone_id = warren_aws_route53_zone.internal.id
  name    = "storage.acme.internal"
  type    = "A"
  ttl     = 300
  records = ["10.20.1.10"]
}
