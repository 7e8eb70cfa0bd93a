variable "name" {
  description = "Name of the hub, used as the prefix of the names of all objects."
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
    error_message = "A hub needs at least one subnetwork."
  }
}

variable "internal_cidr_blocks" {
  description = "Ranges that the firewall rules allow in both directions: those of the hub and of its peers."
  type        = set(string)
}

variable "nat" {
  description = "Whether to create a Cloud NAT gateway for outbound HTTP and HTTPS from the hub. It does not serve spokes."
  type        = bool
  default     = true
}

variable "google_apis" {
  description = "How the network reaches Google APIs: `private` (199.36.153.8/30, all APIs), `restricted` (199.36.153.4/30, only the APIs that VPC Service Controls protects) or `psc` (a Private Service Connect endpoint at `google_apis_address`). Null for `psc` with an address, and otherwise `private`."
  type        = string
  default     = null

  validation {
    condition     = var.google_apis == null ? true : contains(["private", "restricted", "psc"], var.google_apis)
    error_message = "Use private, restricted or psc."
  }
}

variable "google_apis_address" {
  description = "IPv4 address of the Private Service Connect endpoint for Google APIs, outside the ranges of all subnetworks. Required with `psc`, null otherwise."
  type        = string
  default     = null
}

variable "google_apis_bundle" {
  description = "APIs that the Private Service Connect endpoint serves: `all-apis`, or `vpc-sc` for only those that VPC Service Controls protects."
  type        = string
  default     = "all-apis"

  validation {
    condition     = contains(["all-apis", "vpc-sc"], var.google_apis_bundle)
    error_message = "Use all-apis or vpc-sc."
  }
}

variable "google_apis_domains" {
  description = "Domains besides `googleapis.com` that lead to Google APIs. Each has a private zone, which hides all other names of the domain."
  type        = set(string)
  default     = ["gcr.io", "pkg.dev"]
}

variable "flow_logs" {
  description = "Whether the subnetworks have flow logs."
  type        = bool
  default     = false
}
