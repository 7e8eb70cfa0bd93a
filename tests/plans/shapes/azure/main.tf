# Azure and AWS: a hub with spokes, one of which has the range of a VPC.

provider "aws" {
  region = "eu-central-1"
}

provider "azurerm" {
  subscription_id = "00000000-0000-0000-0000-000000000000"
  features {}
}

resource "azurerm_resource_group" "net" {
  name     = "net"
  location = "westeurope"
}

resource "azurerm_virtual_network" "hub" {
  name                = "hub"
  resource_group_name = azurerm_resource_group.net.name
  location            = azurerm_resource_group.net.location
  address_space       = ["10.180.0.0/16", "10.181.0.0/16"]
}

resource "azurerm_virtual_network" "spoke" {
  name                = "spoke"
  resource_group_name = azurerm_resource_group.net.name
  location            = azurerm_resource_group.net.location
  address_space       = ["10.182.0.0/16"]

  subnet {
    name             = "inline"
    address_prefixes = ["10.182.0.0/24"]
  }
}

data "azurerm_virtual_network" "core" {
  name                = "core"
  resource_group_name = "core"
}

resource "azurerm_subnet" "hub" {
  for_each             = { gateway = "10.180.0.0/24", app = "10.181.0.0/24", stray = "10.183.0.0/24" }
  name                 = each.key
  resource_group_name  = azurerm_resource_group.net.name
  virtual_network_name = azurerm_virtual_network.hub.name
  address_prefixes     = [each.value]
}

resource "azurerm_virtual_network_peering" "hub" {
  name                      = "to-spoke"
  resource_group_name       = azurerm_resource_group.net.name
  virtual_network_name      = azurerm_virtual_network.hub.name
  remote_virtual_network_id = azurerm_virtual_network.spoke.id
}

resource "azurerm_virtual_network_peering" "spoke" {
  name                      = "to-hub"
  resource_group_name       = azurerm_resource_group.net.name
  virtual_network_name      = azurerm_virtual_network.spoke.name
  remote_virtual_network_id = azurerm_virtual_network.hub.id
}

resource "aws_vpc" "same" {
  cidr_block = "10.182.0.0/16"
}

resource "aws_vpc" "core" {
  cidr_block = "10.41.0.0/16"
}
