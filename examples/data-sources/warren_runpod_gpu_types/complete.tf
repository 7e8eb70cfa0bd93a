# The cheapest GPUs that fit, in European data centers. Types that are sold out stay in the list, so that they do not replace
# a pod that runs.
data "warren_runpod_gpu_types" "europe" {
  cloud            = "SECURE"
  product          = "POD"
  gpu_count        = 2
  min_memory       = 24
  max_price        = 2.5
  country_codes    = ["RO", "FR"]
  min_cuda_version = "12.4"
  in_stock         = false
}

resource "warren_runpod_pod" "train" {
  name  = "acme-train"
  image = "ghcr.io/acme/train:1"

  gpu = {
    ids   = data.warren_runpod_gpu_types.europe.ids
    count = 2
  }
}

output "cost" {
  description = "Cost of the pod in USD per hour."
  value       = warren_runpod_pod.train.cost
}
