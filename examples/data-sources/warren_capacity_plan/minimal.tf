data "warren_capacity_plan" "tokens" {
  store    = "aws"
  datasets = { tokens = { size = "2 TB", within = "12 h" } }
  links    = { gateways = { kind = "wireguard", rate = "1 Gbit/s" } }
}

output "planned_rate_mbit" {
  description = "Planned rate of the gateway, for `planned_rate_mbit`."
  value       = data.warren_capacity_plan.tokens.planned_rate_mbit
}
