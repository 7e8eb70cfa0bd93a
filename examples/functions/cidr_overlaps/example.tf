output "conflicts" {
  value = provider::warren::cidr_overlaps(["10.0.0.0/16", "10.0.1.0/24", "192.168.0.0/16"])
  # [{ inner = "10.0.1.0/24", outer = "10.0.0.0/16" }]
}
