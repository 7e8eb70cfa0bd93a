output "pod_ids" {
  description = "Ids of the pods, by name."
  value       = { for pod in warren_runpod_pod.this : pod.name => pod.id }
}

output "volume_id" {
  description = "Id of the network volume; null without one."
  value       = one(warren_runpod_network_volume.data[*].id)
}
