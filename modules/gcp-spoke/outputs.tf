output "network_id" {
  description = "ID of the network."
  value       = module.network.network_id
}

output "subnetwork_ids" {
  description = "IDs of the subnetworks by name."
  value       = module.network.subnetwork_ids
}

output "google_apis_dns_suffix" {
  description = "Suffix of the DNS names of Google APIs at the endpoint. Null without an endpoint."
  value       = module.network.google_apis_dns_suffix
}

output "peering_state" {
  description = "State of the peering: `ACTIVE` if both sides exist."
  value       = warren_gcp_network_peering.hub.state
}
