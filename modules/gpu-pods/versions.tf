terraform {
  # Ephemeral values and write-only attributes.
  required_version = ">= 1.11"
  required_providers {
    warren = {
      source = "warren-net/warren"
    }
  }
}
