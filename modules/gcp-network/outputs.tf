output "network_id" {
  description = "ID of the network."
  value       = warren_gcp_network.main.id
}

output "subnetwork_ids" {
  description = "IDs of the subnetworks by name."
  value       = { for name, subnetwork in warren_gcp_subnetwork.private : name => subnetwork.id }
}

output "google_apis_dns_suffix" {
  description = "Suffix of the DNS names of Google APIs at the endpoint. Null without an endpoint."
  value       = one(warren_gcp_private_service_connect.google_apis[*].dns_suffix)
}
