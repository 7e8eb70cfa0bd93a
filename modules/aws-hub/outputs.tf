output "vpc_id" {
  description = "ID of the VPC."
  value       = warren_aws_vpc.hub.id
}

output "subnet_ids" {
  description = "IDs of the subnets by name: public, data and ml."
  value = {
    public = warren_aws_subnet.public.id
    data   = warren_aws_subnet.data.id
    ml     = warren_aws_subnet.ml.id
  }
}

output "private_route_table_id" {
  description = "ID of the route table of the private subnets."
  value       = warren_aws_route_table.private.id
}

output "transit_gateway_id" {
  description = "ID of the transit gateway that spokes attach to."
  value       = warren_aws_transit_gateway.hub.id
}

output "spoke_route_table_id" {
  description = "ID of the transit gateway route table of the spokes."
  value       = warren_aws_transit_gateway_route_table.spokes.id
}

output "hub_route_table_id" {
  description = "ID of the transit gateway route table of the hub, to which spokes propagate their ranges."
  value       = warren_aws_transit_gateway_route_table.hub.id
}

output "services" {
  description = "How hosts and gateways in the hub reach `s3` and `ecr`: prefixes, ports, protocols and domains. Input `services` of the module `wireguard-gateway`."
  value       = module.endpoints.services
}

output "dns_zone_ids" {
  description = "IDs of the private hosted zones by service: s3, ecr_api and ecr_dkr. Empty with endpoints in the spokes. Input `zone_ids` of the module `aws-spoke`."
  value       = module.endpoints.zone_ids
}

output "resolver" {
  description = "IPv4 address of the DNS resolver of the VPC."
  value       = cidrhost(var.cidr_block, 2)
}

output "nat_public_ip" {
  description = "Public IP address from which the hub and its spokes connect to the internet."
  value       = warren_aws_nat_gateway.hub.public_ip
}
