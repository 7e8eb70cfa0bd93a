variable "name" {
  description = "Name of the group of pods. The pods are named `NAME-0`, `NAME-1` and so on. Letters, digits, `_` and `-`."
  type        = string
}

variable "pods" {
  description = "Number of pods."
  type        = number
  default     = 1
}

variable "image" {
  description = "Container image that contains the tunnel agent; see `examples/pod-image`."
  type        = string
}

variable "args" {
  description = "Arguments passed to the image's entrypoint. Defaults to those of the image."
  type        = string
  default     = null
}

variable "gpu" {
  description = "GPU type (`id`), or several in order of preference (`ids`), and number of GPUs per pod."
  type = object({
    id    = optional(string)
    ids   = optional(list(string))
    count = optional(number, 1)
  })
}

variable "cloud" {
  description = "Where the pods run: `SECURE` for machines in data centers, `COMMUNITY` for machines owned by third parties, which should not handle sensitive data or keys."
  type        = string
  default     = "SECURE"
}

variable "data_center_ids" {
  description = "IDs of the data centers where the pods may run, in order of preference. Pods with a volume run in the data center of the volume."
  type        = list(string)
  default     = null
}

variable "environment" {
  description = "Environment variables of the pods, in addition to the agent's. They are stored in the state."
  type        = map(string)
  default     = {}
}

variable "agent" {
  description = "Settings of the agent; see the data source `warren_tunnel_config`. `planned_rate_mbit` is the rate in Mbit/s and per direction that is planned for each pod, such as `agent_planned_rate_mbit` of a capacity plan."
  type = object({
    carrier           = optional(string)
    dns               = optional(string)
    forwards          = optional(list(string))
    reverse           = optional(list(string))
    direct            = optional(bool)
    planned_rate_mbit = optional(number)
  })
  default = {}
}

variable "token" {
  description = "Enrolment token from `ephemeral.warren_enrolment_token`. It is stored as a RunPod secret and never in plan or state."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "token_version" {
  description = "Version of the token. Raise it to store a new token, which pods use from their next start."
  type        = number
  default     = 1
}

variable "registry" {
  description = "Registry user for a private image, or null for a public image. Raise `version` with each new password. Plans show a warning after `expires_at`."
  type = object({
    username   = string
    version    = optional(number, 1)
    expires_at = optional(string)
  })
  default = null
}

variable "registry_password" {
  description = "Password or token of the registry. It is stored at RunPod and never in plan or state."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = null
}

variable "volume" {
  description = "Network volume that all pods mount, or null for none. `size` is in GB."
  type = object({
    size        = number
    data_center = string
    path        = optional(string, "/workspace")
  })
  default = null
}

variable "disk" {
  description = "Size of the container disk in GB."
  type        = number
  default     = 50
}
