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

output "dns_zone_ids" {
  description = "IDs of the private zones for Google APIs by domain."
  value       = module.network.dns_zone_ids
}

output "resolver" {
  description = "Address at which machines of the network resolve names: that of the metadata server. No firewall rule can deny it."
  value       = module.network.resolver
}

output "services" {
  description = "Google APIs by name, `storage` and `artifact-registry`, with the ranges, ports and protocols at which the network reaches them, and their domains: for `services` of the module wireguard-gateway."
  value       = module.network.services
}
