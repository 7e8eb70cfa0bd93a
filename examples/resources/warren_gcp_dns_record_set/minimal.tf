resource "warren_gcp_dns_zone" "internal" {
  name     = "acme-internal"
  dns_name = "acme.internal."
}

resource "warren_gcp_dns_record_set" "registry" {
  zone    = warren_gcp_dns_zone.internal.id
  name    = "registry.acme.internal."
  type    = "A"
  rrdatas = ["10.0.0.10"]
}
