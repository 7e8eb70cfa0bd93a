output "gateways" {
  description = "Names, public keys, addresses and certificate pins of the gateways, for enrolment tokens and for gateways in other networks."
  value       = local.gateways
}

output "secrets" {
  description = "Prefix of the names of each gateway's secrets. The suffixes are `-wireguard`, `-tls` and `-config`."
  value       = local.secrets
}
