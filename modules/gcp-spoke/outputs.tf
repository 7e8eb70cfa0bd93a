output "network_id" {
  description = "Id of the network."
  value       = warren_gcp_network.spoke.id
}

output "subnetwork_ids" {
  description = "Ids of the subnetworks by name."
  value       = { for name, subnetwork in warren_gcp_subnetwork.private : name => subnetwork.id }
}

output "google_apis_dns_suffix" {
  description = "What follows an API in the DNS names of the endpoint; null without one."
  value       = one(warren_gcp_private_service_connect.google_apis[*].dns_suffix)
}

output "peering_state" {
  description = "`ACTIVE` when both sides of the peering are there."
  value       = warren_gcp_network_peering.hub.state
}
