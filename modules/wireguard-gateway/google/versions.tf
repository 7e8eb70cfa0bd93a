terraform {
  required_version = ">= 1.9"
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}
