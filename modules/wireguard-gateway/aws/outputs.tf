output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways, for enrolment tokens and for gateways in other networks."
  value       = local.gateways
}

output "routes" {
  description = "Routes to the overlay and to the ranges behind other sites, for `routes` of a warren_aws_route_table."
  value = flatten([for key, gateway in var.gateways : [
    for cidr in concat(gateway.overlay_cidr_blocks, flatten(try(var.sites[key].peers[*].prefixes, []))) : {
      destination_cidr_block = cidr
      network_interface_id   = !var.recovery ? warren_aws_gateway.gateway[key].network_interface_id : warren_aws_gateway_group.gateway[key].network_interface_id
    }
  ]])
}

output "parameters" {
  description = "Prefix of the parameter names of each gateway. The suffixes are `/wireguard`, `/tls` and `/config`."
  value       = local.parameters
}

output "role_arns" {
  description = "ARNs of the roles of the gateways by short name, for the trust policy of the role in `pod_role_arn`."
  value       = { for key, role in warren_aws_gateway_role.gateway : key => role.arn }
}
