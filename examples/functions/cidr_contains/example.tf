output "in_vpc" {
  value = provider::warren::cidr_contains(["10.0.0.0/16"], "10.0.4.0/24")
  # true
}

output "two_halves" {
  value = provider::warren::cidr_contains(["10.0.0.0/9", "10.128.0.0/9"], "10.0.0.0/8")
  # true
}

output "outside" {
  value = provider::warren::cidr_contains(["10.0.0.0/16"], "10.1.0.0/24")
  # false
}
