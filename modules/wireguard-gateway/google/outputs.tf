output "gateways" {
  description = "The gateways as peers reach them: for tokens, and for gateways elsewhere."
  value       = local.gateways
}

output "secrets" {
  description = "What the names of each gateway's secrets begin with; `-wireguard`, `-tls` and `-config` follow."
  value       = local.secrets
}
