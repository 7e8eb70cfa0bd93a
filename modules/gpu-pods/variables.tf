variable "name" {
  description = "Name of the group of pods; pods are called NAME-0, NAME-1 and so on. Letters, digits, `_` and `-`."
  type        = string
}

variable "pods" {
  description = "How many pods."
  type        = number
  default     = 1
}

variable "image" {
  description = "Container image with the agent in it, see examples/pod-image."
  type        = string
}

variable "args" {
  description = "Arguments of the image's entrypoint. Default: the image's own."
  type        = string
  default     = null
}

variable "gpu" {
  description = "GPU type and how many of them a pod has."
  type = object({
    id    = string
    count = optional(number, 1)
  })
}

variable "cloud" {
  description = "SECURE, or COMMUNITY: machines of others, which should see no keys."
  type        = string
  default     = "SECURE"
}

variable "data_center_ids" {
  description = "Data centers where the pods may be. With a volume it is the volume's."
  type        = set(string)
  default     = null
}

variable "environment" {
  description = "Variables of the pods, beside the agent's. They are stored in the state."
  type        = map(string)
  default     = {}
}

variable "agent" {
  description = "Settings of the agent, as of the data source warren_tunnel_config."
  type = object({
    carrier  = optional(string)
    dns      = optional(string)
    forwards = optional(list(string))
    reverse  = optional(list(string))
    direct   = optional(bool)
  })
  default = {}
}

variable "token" {
  description = "Enrolment token, from ephemeral.warren_enrolment_token. It goes into a secret of RunPod and is stored nowhere else."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "token_version" {
  description = "Raise it to hand out the present token: pods that start from then on use it."
  type        = number
  default     = 1
}

variable "registry" {
  description = "User of the registry for a private image; null for a public one. `version` is raised with each new password, `expires_at` warns of an old one."
  type = object({
    username   = string
    version    = optional(number, 1)
    expires_at = optional(string)
  })
  default = null
}

variable "registry_password" {
  description = "Password or token of the registry. Stored nowhere but at RunPod."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = null
}

variable "volume" {
  description = "Network volume that all pods mount; null for none."
  type = object({
    size        = number
    data_center = string
    path        = optional(string, "/workspace")
  })
  default = null
}

variable "disk" {
  description = "Gigabytes of a container's own disk."
  type        = number
  default     = 50
}
