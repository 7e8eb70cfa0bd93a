data "warren_tunnel_config" "agent" {}

output "environment" {
  description = "Environment variables of the agent; add `WARREN_TOKEN` from a secret store."
  value       = data.warren_tunnel_config.agent.environment
}
