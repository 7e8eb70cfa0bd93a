# A network that is a resource or a data source, behind a local value.

provider "google" {
  project = "acme"
  region  = "europe-west4"
}

module "spoke" {
  source  = "./modules/net-vpc"
  name    = "spoke"
  subnets = { app = "10.150.0.0/20", gke = "10.150.16.0/20" }
}

module "shared" {
  source  = "./modules/net-vpc"
  name    = "shared"
  create  = false
  subnets = { app = "10.150.32.0/20" }
}
