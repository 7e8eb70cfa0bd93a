data "warren_runpod_gpu_types" "large" {
  min_memory = 48
}

output "prices" {
  description = "Price of one GPU in USD per hour, by type."
  value       = { for gpu in data.warren_runpod_gpu_types.large.gpu_types : gpu.id => gpu.price }
}
