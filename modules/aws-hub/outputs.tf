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

output "nat_public_ip" {
  description = "Public IP address from which the hub connects to the internet."
  value       = warren_aws_nat_gateway.hub.public_ip
}
