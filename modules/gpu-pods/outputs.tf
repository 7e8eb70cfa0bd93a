output "pod_ids" {
  description = "IDs of the pods by name."
  value       = { for pod in warren_runpod_pod.this : pod.name => pod.id }
}

output "volume_id" {
  description = "ID of the network volume, or null without one."
  value       = one(warren_runpod_network_volume.data[*].id)
}
