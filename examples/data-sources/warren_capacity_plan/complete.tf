# 2 TB of tokens in S3, and eight rented pods with eight GPUs each that train a 7B model.
data "warren_capacity_plan" "train" {
  name    = "llama-7b"
  store   = "aws"
  place   = "rented"
  private = true
  pods    = 8

  datasets = {
    tokens = { size = "2 TB", within = "12 h", times_per_month = 2, per_pod = false }
  }

  model = {
    parameters       = "7B"
    gradient_bytes   = 2
    checkpoint_bytes = 14
  }

  checkpoint = {
    size          = "98 GB"
    interval      = "30 min"
    pause         = "40 s"
    upload_within = "15 min"
    cost_per_hour = 128
  }

  training = {
    gpus              = 64
    pods              = 8
    step              = "10 s"
    network           = "100 Gbit/s"
    tensor_parallel   = 8
    pipeline_parallel = 1
    sites             = 2
    between_sites     = "1 Gbit/s"
    server            = "10 Gbit/s"
    elastic           = false
    local_steps       = 500
    limit             = 0.2
  }

  links = {
    cloud-sync     = { kind = "cloud-sync", rate = "1 Gbit/s" }
    gateways       = { kind = "wireguard", rate = "3 Gbit/s", gateways = 2 }
    direct-connect = { kind = "direct-connect", rate = "10 Gbit/s" }
  }

  prices = { aws_internet = 0.05 }

  # The apply stops if the plan no longer fits.
  lifecycle {
    postcondition {
      condition     = self.fits && self.link["gateways"].transfers["tokens"].time_seconds < 6 * 3600
      error_message = "The gateways are too slow: ${join("; ", self.reasons)}."
    }
    postcondition {
      condition     = self.link["gateways"].lost_to_checkpoints < 0.05
      error_message = "Training waits too long for checkpoints."
    }
  }
}

# The 70 % alert of the agents follows the plan.
data "warren_tunnel_config" "agent" {
  token_reference = "{{ RUNPOD_SECRET_acme-warren-token }}"
}

output "environment" {
  description = "Environment of the agents."
  value = merge(data.warren_tunnel_config.agent.environment, {
    WARREN_PLANNED_RATE = data.warren_capacity_plan.train.agent_planned_rate_mbit
  })
}

output "planned_rate_mbit" {
  description = "Planned rate of each gateway, for `planned_rate_mbit` of the gateway modules."
  value       = data.warren_capacity_plan.train.planned_rate_mbit
}

output "review" {
  value = data.warren_capacity_plan.train.markdown
}
