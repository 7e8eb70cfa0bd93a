output "routes" {
  value = provider::warren::cidr_merge(["10.0.1.0/24", "10.0.0.0/24", "10.0.0.128/25", "fd00::/9"])
  # ["10.0.0.0/23", "fd00::/9"]
}
