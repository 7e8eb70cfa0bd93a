variable "name" {
  description = "Name of the spoke, used as the prefix of the names of all objects."
  type        = string
}

variable "cidr_block" {
  description = "IPv4 range of the VPC in CIDR notation, /16 to /28."
  type        = string
}

variable "subnets" {
  description = "Private subnets by name, each with an IPv4 range and an Availability Zone."
  type = map(object({
    cidr_block        = string
    availability_zone = string
  }))

  validation {
    condition     = length(var.subnets) > 0
    error_message = "A spoke needs at least one subnet."
  }
}

variable "transit_gateway_id" {
  description = "ID of the transit gateway of the hub."
  type        = string
}

variable "hub_cidr_block" {
  description = "IPv4 range of the hub, which the spoke routes to the transit gateway."
  type        = string
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
