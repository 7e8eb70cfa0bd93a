terraform {
  required_version = ">= 1.8"
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}
