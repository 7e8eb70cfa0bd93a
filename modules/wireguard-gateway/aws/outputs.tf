output "gateways" {
  description = "The gateways as peers reach them: for tokens, and for gateways elsewhere."
  value       = local.gateways
}

output "routes" {
  description = "Routes to the overlay and to what is behind other sites, for route tables."
  value = flatten([for key, gateway in var.gateways : [
    for cidr in concat(gateway.overlay_cidr_blocks, flatten(try(var.sites[key].peers[*].prefixes, []))) : {
      destination_cidr_block = cidr
      network_interface_id   = warren_aws_gateway.gateway[key].network_interface_id
    }
  ]])
}

output "parameters" {
  description = "What each gateway's parameters' names begin with; `/wireguard`, `/tls` and `/config` follow."
  value       = local.parameters
}
