output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways of both clouds, for enrolment tokens."
  value       = concat(module.aws.gateways, module.gcp.gateways)
}

output "aws_routes" {
  description = "Routes to the overlay and to the ranges of the Google Cloud hub, for the route tables of the AWS hub. The module creates the routes in Google Cloud."
  value       = module.aws.routes
}

output "sites" {
  description = "Both ends of the link, in the form that `warren-tunnel topology` accepts."
  value = [for site in ["aws", "gcp"] : {
    name      = site
    key       = local.peers[site].key
    endpoint  = local.peers[site].endpoint
    addresses = local.peers[site].addresses
    prefixes  = local.peers[site].prefixes
  }]
}

output "role_arns" {
  description = "ARN of the role of the gateway in AWS by its short name, for the trust policy of the role in `pod_role_arn`."
  value       = module.aws.role_arns
}

output "bucket_roles" {
  description = "Roles that the gateway in Google Cloud needs on the buckets in `grants`: `bucket`, `role` and `member`."
  value       = module.gcp.bucket_roles
}
