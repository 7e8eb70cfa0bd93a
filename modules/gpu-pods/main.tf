resource "warren_runpod_secret" "token" {
  name             = "${var.name}-token"
  description      = "lets the pods of ${var.name} join the tunnel"
  value_wo         = var.token
  value_wo_version = var.token_version
}

resource "warren_runpod_registry_auth" "images" {
  count = var.registry == null ? 0 : 1

  name                = var.name
  username            = var.registry.username
  password_wo         = var.registry_password
  password_wo_version = var.registry.version
  expires_at          = var.registry.expires_at

  # Pods switch to the new credential before the old one is deleted.
  lifecycle {
    create_before_destroy = true
  }
}

resource "warren_runpod_network_volume" "data" {
  count = var.volume == null ? 0 : 1

  name        = var.name
  data_center = var.volume.data_center
  size        = var.volume.size
}

data "warren_tunnel_config" "agent" {
  token_reference = warren_runpod_secret.token.reference
  device          = "user"
  carrier         = var.agent.carrier
  dns             = var.agent.dns
  forwards        = var.agent.forwards
  reverse         = var.agent.reverse
  direct          = var.agent.direct
}

resource "warren_runpod_pod" "this" {
  count = var.pods

  name            = "${var.name}-${count.index}"
  image           = var.image
  args            = var.args
  gpu             = var.gpu
  cloud           = var.cloud
  data_center_ids = var.data_center_ids
  disk            = var.disk
  # A pod that starts again, here or elsewhere, is the same user of the token.
  env = merge(
    { WARREN_HOST_NAME = "${var.name}-${count.index}" },
    var.agent.planned_rate_mbit == null ? {} : { WARREN_PLANNED_RATE = tostring(var.agent.planned_rate_mbit) },
    var.environment,
    data.warren_tunnel_config.agent.environment,
  )
  registry_auth_id = one(warren_runpod_registry_auth.images[*].id)

  network_volume = var.volume == null ? null : {
    id   = warren_runpod_network_volume.data[0].id
    path = var.volume.path
  }
}
