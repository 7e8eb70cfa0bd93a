# The shape of the widely used Google network module: subnets name their network by its name.

provider "google" {
  project = "acme"
  region  = "europe-west4"
}

module "network" {
  source       = "./modules/network"
  project_id   = "acme"
  network_name = "prod"
  subnets = [
    { name = "app", cidr = "10.140.0.0/20" },
    { name = "db", cidr = "10.140.16.0/20" },
  ]
}

module "lab" {
  source       = "./modules/network"
  project_id   = "acme-lab"
  network_name = "prod"
  subnets      = [{ name = "lab", cidr = "10.140.16.0/20" }]
}
