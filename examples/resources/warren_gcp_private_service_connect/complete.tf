resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_private_service_connect" "apis" {
  name         = "apis"
  description  = "Cloud Storage and Artifact Registry without internet access"
  network      = warren_gcp_network.hub.id
  address      = "10.255.0.2"
  bundle       = "vpc-sc"
  automate_dns = true

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}

output "storage_endpoint" {
  description = "Hostname of Cloud Storage at the endpoint."
  value       = "storage${warren_gcp_private_service_connect.apis.dns_suffix}"
}
