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

output "dns_zone_ids" {
  description = "IDs of the private zones for Google APIs by domain."
  value       = { for domain, zone in warren_gcp_dns_zone.google_apis : domain => zone.id }
}

output "resolver" {
  description = "Address at which machines of the network resolve names: that of the metadata server. No firewall rule can deny it."
  value       = "169.254.169.254"
}

output "services" {
  description = "Google APIs by name, `storage` and `artifact-registry`, with the ranges, ports and protocols at which the network reaches them, and their domains: for `services` of the module wireguard-gateway."
  value = {
    storage           = merge(local.service, { domains = ["googleapis.com"] })
    artifact-registry = merge(local.service, { domains = concat(["googleapis.com"], sort(var.google_apis_domains)) })
  }
}
