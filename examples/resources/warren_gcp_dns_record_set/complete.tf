resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_dns_zone" "googleapis" {
  name     = "acme-googleapis"
  dns_name = "googleapis.com."
  networks = [warren_gcp_network.hub.id]
}

# All names of Google APIs lead to private.googleapis.com.
resource "warren_gcp_dns_record_set" "private" {
  zone    = warren_gcp_dns_zone.googleapis.id
  name    = "private.googleapis.com."
  type    = "A"
  ttl     = 300
  rrdatas = ["199.36.153.8", "199.36.153.9", "199.36.153.10", "199.36.153.11"]

  timeouts = {
    create = "10m"
    update = "10m"
    delete = "10m"
  }
}

resource "warren_gcp_dns_record_set" "all" {
  zone    = warren_gcp_dns_zone.googleapis.id
  name    = "*.googleapis.com."
  type    = "CNAME"
  rrdatas = [warren_gcp_dns_record_set.private.name]
}
