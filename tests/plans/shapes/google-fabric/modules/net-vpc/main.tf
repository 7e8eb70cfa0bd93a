variable "name" { type = string }
variable "create" {
  type    = bool
  default = true
}
variable "subnets" { type = map(string) }

locals {
  network = var.create ? try(google_compute_network.network[0], null) : try(data.google_compute_network.network[0], null)
}

data "google_compute_network" "network" {
  count = var.create ? 0 : 1
  name  = var.name
}

resource "google_compute_network" "network" {
  count                   = var.create ? 1 : 0
  name                    = var.name
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "subnetwork" {
  for_each      = var.subnets
  name          = each.key
  ip_cidr_range = each.value
  region        = "europe-west4"
  network       = local.network.id
}
