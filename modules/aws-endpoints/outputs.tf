output "zone_ids" {
  description = "IDs of the private hosted zones by service: s3, ecr_api and ecr_dkr. Empty if `shared` is `false`."
  value       = { for service, zone in warren_aws_route53_zone.service : service => zone.id }
}

output "services" {
  description = "How clients reach the services `s3` and `ecr`: the addresses of the endpoints as prefixes, ports, protocols, and the domains that clients look up."
  value = {
    s3 = {
      prefixes  = local.s3_prefixes
      ports     = ["443"]
      protocols = ["tcp"]
      domains   = [local.domains.s3]
    }
    # Layers come from S3.
    ecr = {
      prefixes  = concat(local.ecr_prefixes, local.s3_prefixes)
      ports     = ["443"]
      protocols = ["tcp"]
      domains   = [local.domains.ecr_api, local.domains.ecr_dkr, local.layers]
    }
  }
}
