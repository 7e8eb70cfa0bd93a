# Node groups of clusters that name subnets of their own: managed nodes and Fargate of EKS, pools of GKE and AKS.

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
  cidr_block = "10.200.0.0/16"
  tags       = { Name = "main" }
}

resource "aws_subnet" "main" {
  for_each   = { control = 0, nodes = 1, gpu = 2, serverless = 3 }
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet(aws_vpc.main.cidr_block, 4, each.value)
  tags       = { Name = each.key }
}

resource "aws_eks_cluster" "training" {
  name     = "training"
  role_arn = "arn:aws:iam::111122223333:role/eks"

  vpc_config {
    subnet_ids = [aws_subnet.main["control"].id]
  }
}

resource "aws_eks_node_group" "main" {
  for_each        = toset(["nodes", "gpu"])
  cluster_name    = aws_eks_cluster.training.name
  node_group_name = each.key
  node_role_arn   = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids      = [aws_subnet.main[each.key].id]
}

resource "aws_eks_fargate_profile" "jobs" {
  cluster_name           = aws_eks_cluster.training.name
  fargate_profile_name   = "jobs"
  pod_execution_role_arn = "arn:aws:iam::111122223333:role/pods"
  subnet_ids             = [aws_subnet.main["serverless"].id]
}

resource "google_compute_network" "main" {
  name                    = "ml"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "main" {
  for_each      = { nodes = "10.201.0.0/20", fast = "10.201.16.0/20", pods = "10.201.32.0/20" }
  name          = each.key
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = each.value
}

resource "google_container_cluster" "serving" {
  name       = "serving"
  location   = "europe-west4"
  network    = google_compute_network.main.id
  subnetwork = google_compute_subnetwork.main["nodes"].id
}

# This pool is where its cluster is.
resource "google_container_node_pool" "small" {
  name    = "small"
  cluster = google_container_cluster.serving.id
}

resource "google_container_node_pool" "fast" {
  name    = "fast"
  cluster = google_container_cluster.serving.id

  network_config {
    additional_node_network_configs {
      network    = google_compute_network.main.id
      subnetwork = google_compute_subnetwork.main["fast"].name
    }

    additional_pod_network_configs {
      subnetwork = google_compute_subnetwork.main["pods"].name
    }
  }
}

resource "azurerm_resource_group" "apps" {
  name     = "apps"
  location = "westeurope"
}

resource "azurerm_virtual_network" "apps" {
  name                = "apps"
  resource_group_name = azurerm_resource_group.apps.name
  location            = azurerm_resource_group.apps.location
  address_space       = ["10.202.0.0/16"]
}

resource "azurerm_subnet" "apps" {
  for_each             = { system = "10.202.0.0/20", batch = "10.202.16.0/20", pods = "10.202.32.0/20" }
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
    name           = "system"
    vnet_subnet_id = azurerm_subnet.apps["system"].id
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "batch" {
  name                  = "batch"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.apps.id
  vnet_subnet_id        = azurerm_subnet.apps["batch"].id
  pod_subnet_id         = azurerm_subnet.apps["pods"].id
}
