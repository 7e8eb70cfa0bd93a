output "gateways" {
  description = "The gateways of both clouds as peers reach them: for tokens."
  value       = concat(module.aws.gateways, module.gcp.gateways)
}

output "aws_routes" {
  description = "Routes to the overlay and to what is behind the Google Cloud hub, for the AWS hub's route tables. Google's routes are made."
  value       = module.aws.routes
}

output "sites" {
  description = "Both ends of the link, as `warren-tunnel topology` takes them."
  value = [for site in ["aws", "gcp"] : {
    name      = site
    key       = local.peers[site].key
    endpoint  = local.peers[site].endpoint
    addresses = local.peers[site].addresses
    prefixes  = local.peers[site].prefixes
  }]
}
