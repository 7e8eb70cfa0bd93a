output "next_subnet" {
  value = provider::warren::cidr_next(["10.0.0.0/16"], ["10.0.0.0/24", "10.0.2.0/24"], 24)
  # "10.0.1.0/24"
}
