output "vpc_id" {
  description = "ID of the VPC."
  value       = warren_aws_vpc.spoke.id
}

output "subnet_ids" {
  description = "IDs of the subnets by name."
  value       = { for name, subnet in warren_aws_subnet.private : name => subnet.id }
}

output "route_table_id" {
  description = "ID of the route table of the subnets."
  value       = warren_aws_route_table.private.id
}
