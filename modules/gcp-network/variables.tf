variable "name" {
  description = "Name of the network, used as the prefix of the names of all objects."
  type        = string
}

variable "description" {
  description = "Description of the network."
  type        = string
  default     = null
}

variable "region" {
  description = "Region of the subnetworks and the Cloud NAT gateway. Null for the region of the provider."
  type        = string
  default     = null
}

variable "subnetworks" {
  description = "Private subnetworks by name, each with its primary range and optional secondary ranges by name."
  type = map(object({
    ip_cidr_range       = string
    secondary_ip_ranges = optional(map(string))
  }))

  validation {
    condition     = length(var.subnetworks) > 0
    error_message = "A network needs at least one subnetwork."
  }
}

variable "internal_cidr_blocks" {
  description = "Ranges that the firewall rules allow in both directions: those of the network and of its peers."
  type        = set(string)
}

variable "nat" {
  description = "Whether to create a Cloud NAT gateway for outbound HTTP and HTTPS from the network."
  type        = bool
  default     = false
}

variable "google_apis_address" {
  description = "IPv4 address of a Private Service Connect endpoint for Google APIs, outside the ranges of all subnetworks. Null for no endpoint."
  type        = string
  default     = null
}

variable "flow_logs" {
  description = "Whether the subnetworks have flow logs."
  type        = bool
  default     = false
}
