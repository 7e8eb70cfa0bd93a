output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways, for enrolment tokens and for gateways in other networks."
  value       = local.gateways
}

output "secrets" {
  description = "Prefix of the names of each gateway's secrets. The suffixes are `-wireguard`, `-tls` and `-config`."
  value       = local.secrets
}

output "service_accounts" {
  description = "Email addresses of the service accounts of the gateways by short name."
  value       = { for key, account in warren_gcp_gateway_service_account.gateway : key => account.email }
}

output "bucket_roles" {
  description = "Roles that the gateways need on the buckets in `grants`, by a key that is known at plan time: `bucket`, `role` and `member`, for `google_storage_bucket_iam_member`."
  value = merge([for key, account in warren_gcp_gateway_service_account.gateway : {
    for binding in distinct(flatten([for group in var.groups : [for grant in group.grants : {
      bucket = split("/", grant.objects)[2]
      role   = grant.access == "read" ? "roles/storage.objectViewer" : "roles/storage.objectUser"
    }]])) : "${key} ${binding.bucket} ${binding.role}" => merge(binding, { member = "serviceAccount:${account.email}" })
  }]...)
}
