variable "project_id" { type = string }
variable "network_name" { type = string }
variable "subnets" { type = list(map(string)) }

locals {
  subnets = { for subnet in var.subnets : subnet.name => subnet }
}

resource "google_compute_subnetwork" "subnetwork" {
  for_each      = local.subnets
  name          = each.value.name
  ip_cidr_range = each.value.cidr
  region        = "europe-west4"
  network       = var.network_name
  project       = var.project_id
}
