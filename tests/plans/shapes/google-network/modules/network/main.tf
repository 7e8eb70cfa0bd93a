variable "project_id" { type = string }
variable "network_name" { type = string }
variable "subnets" { type = list(map(string)) }

module "vpc" {
  source       = "../vpc"
  project_id   = var.project_id
  network_name = var.network_name
}

module "subnets" {
  source       = "../subnets"
  project_id   = var.project_id
  network_name = module.vpc.network_name
  subnets      = var.subnets
}
