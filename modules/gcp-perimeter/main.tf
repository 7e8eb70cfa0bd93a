locals {
  config = {
    resources               = [for number in var.project_numbers : "projects/${number}"]
    restricted_services     = var.restricted_services
    access_levels           = var.access_levels
    vpc_accessible_services = ["RESTRICTED-SERVICES"]

    ingress_policies = [for number, services in var.ingress : {
      identity_type    = "ANY_SERVICE_ACCOUNT"
      source_resources = ["projects/${number}"]
      resources        = ["*"]
      operations       = [for service in services : { service_name = service, methods = ["*"] }]
    }]

    egress_policies = [for number, services in var.egress : {
      identity_type = "ANY_SERVICE_ACCOUNT"
      resources     = ["projects/${number}"]
      operations    = [for service in services : { service_name = service, methods = ["*"] }]
    }]
  }
}

resource "warren_gcp_service_perimeter" "main" {
  access_policy = var.access_policy
  name          = var.name
  title         = coalesce(var.title, var.name)
  description   = var.description

  status = var.enforced ? local.config : null
  spec   = var.enforced ? null : local.config
}
