variable "name" {
  description = "Name of the hub; every object's name begins with it."
  type        = string
}

variable "description" {
  description = "What the network is for."
  type        = string
  default     = null
}

variable "region" {
  description = "Region of the subnetworks and the NAT; null for the provider's."
  type        = string
  default     = null
}

variable "subnetworks" {
  description = "Private subnetworks by name."
  type = map(object({
    ip_cidr_range       = string
    secondary_ip_ranges = optional(map(string))
  }))

  validation {
    condition     = length(var.subnetworks) > 0
    error_message = "A hub needs at least one subnetwork."
  }
}

variable "internal_cidr_blocks" {
  description = "Ranges that may enter and be reached: the hub's own and those of its peers."
  type        = set(string)
}

variable "nat" {
  description = "Whether machines of the hub reach the web by a Cloud NAT of the hub's. It serves no spoke."
  type        = bool
  default     = true
}

variable "google_apis_address" {
  description = "Address of a Private Service Connect endpoint for Google's APIs, in no subnetwork's range; null for none."
  type        = string
  default     = null
}

variable "flow_logs" {
  description = "Whether connections are logged."
  type        = bool
  default     = false
}
