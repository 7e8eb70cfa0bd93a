# Kubernetes clusters and load balancers in three clouds, with a rule that looks like a load balancer but is not one.

provider "aws" {
  region = "eu-central-1"
}

provider "google" {
  project = "acme"
  region  = "europe-west4"
}

provider "azurerm" {
  subscription_id = "00000000-0000-0000-0000-000000000000"
  features {}
}

resource "aws_vpc" "main" {
  cidr_block = "10.190.0.0/16"
  tags       = { Name = "main" }
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_subnet" "public" {
  for_each                = { a = 0, b = 1 }
  vpc_id                  = aws_vpc.main.id
  cidr_block              = cidrsubnet(aws_vpc.main.cidr_block, 8, each.value)
  availability_zone       = "eu-central-1${each.key}"
  map_public_ip_on_launch = true
  tags                    = { Name = "public-${each.key}" }
}

resource "aws_subnet" "private" {
  for_each          = { a = 1, b = 2 }
  vpc_id            = aws_vpc.main.id
  cidr_block        = cidrsubnet(aws_vpc.main.cidr_block, 4, each.value)
  availability_zone = "eu-central-1${each.key}"
  tags              = { Name = "private-${each.key}" }
}

resource "aws_eks_cluster" "training" {
  name     = "training"
  role_arn = "arn:aws:iam::111122223333:role/eks"

  vpc_config {
    subnet_ids = values(aws_subnet.private)[*].id
  }
}

resource "aws_lb" "web" {
  name               = "web"
  load_balancer_type = "application"
  subnets            = values(aws_subnet.public)[*].id
}

resource "aws_alb" "old" {
  name     = "old"
  internal = true
  subnets  = [aws_subnet.private["a"].id]
}

resource "aws_lb" "metrics" {
  name               = "metrics"
  internal           = true
  load_balancer_type = "network"

  subnet_mapping {
    subnet_id = aws_subnet.private["a"].id
  }

  subnet_mapping {
    subnet_id = aws_subnet.private["b"].id
  }
}

resource "aws_elb" "legacy" {
  name    = "legacy"
  subnets = [aws_subnet.public["a"].id]
}

resource "google_compute_network" "main" {
  name                    = "ml"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.66.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.68.0.0/14"
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.66.16.0/20"
  }
}

resource "google_container_cluster" "serving" {
  name       = "serving"
  location   = "europe-west4"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.nodes.id

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}

resource "google_compute_forwarding_rule" "inference" {
  name                  = "inference"
  region                = "europe-west4"
  load_balancing_scheme = "INTERNAL"
  backend_service       = "projects/acme/regions/europe-west4/backendServices/inference"
  ports                 = ["443"]
  network               = google_compute_network.main.id
  subnetwork            = google_compute_subnetwork.nodes.id
}

resource "google_compute_global_forwarding_rule" "site" {
  name                  = "site"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  target                = "projects/acme/global/targetHttpsProxies/site"
  port_range            = "443"
}

# Private Service Connect to a service of another project.
resource "google_compute_forwarding_rule" "database" {
  name                  = "database"
  region                = "europe-west4"
  load_balancing_scheme = ""
  target                = "projects/data/regions/europe-west4/serviceAttachments/postgres"
  network               = google_compute_network.main.id
}

resource "google_compute_vpn_gateway" "site" {
  name    = "site"
  network = google_compute_network.main.id
  region  = "europe-west4"
}

resource "google_compute_forwarding_rule" "esp" {
  name                  = "esp"
  region                = "europe-west4"
  load_balancing_scheme = "EXTERNAL"
  ip_protocol           = "ESP"
  target                = google_compute_vpn_gateway.site.id
}

resource "azurerm_resource_group" "apps" {
  name     = "apps"
  location = "westeurope"
}

resource "azurerm_virtual_network" "apps" {
  name                = "apps"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location
  address_space       = ["10.192.0.0/16"]
}

resource "azurerm_subnet" "apps" {
  for_each             = { nodes = "10.192.0.0/20", gateways = "10.192.16.0/24" }
  name                 = each.key
  resource_group_name  = azurerm_resource_group.apps.name
  virtual_network_name = azurerm_virtual_network.apps.name
  address_prefixes     = [each.value]
}

resource "azurerm_kubernetes_cluster" "apps" {
  name                = "apps"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location

  default_node_pool {
    name           = "default"
    vnet_subnet_id = azurerm_subnet.apps["nodes"].id
  }
}

resource "azurerm_public_ip" "edge" {
  name                = "edge"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location
}

resource "azurerm_lb" "inside" {
  name                = "inside"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location

  frontend_ip_configuration {
    name      = "inside"
    subnet_id = azurerm_subnet.apps["nodes"].id
  }
}

resource "azurerm_lb" "edge" {
  name                = "edge"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location

  frontend_ip_configuration {
    name                 = "edge"
    public_ip_address_id = azurerm_public_ip.edge.id
  }
}

resource "azurerm_application_gateway" "apps" {
  name                = "apps"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location

  gateway_ip_configuration {
    name      = "apps"
    subnet_id = azurerm_subnet.apps["gateways"].id
  }

  frontend_ip_configuration {
    name                 = "edge"
    public_ip_address_id = azurerm_public_ip.edge.id
  }
}
