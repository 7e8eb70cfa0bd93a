output "pod_ids" {
  description = "IDs of the pods by name."
  value       = { for pod in warren_runpod_pod.this : pod.name => pod.id }
}

output "cost" {
  description = "Current cost of all pods in USD per hour, without storage."
  value       = sum(concat([0], warren_runpod_pod.this[*].cost))
}

output "volume_id" {
  description = "ID of the network volume, or null without one."
  value       = one(warren_runpod_network_volume.data[*].id)
}
