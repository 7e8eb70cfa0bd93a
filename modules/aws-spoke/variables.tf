variable "name" {
  description = "Name of the spoke; every object's name begins with it."
  type        = string
}

variable "cidr_block" {
  description = "Range of the VPC, /16 to /28."
  type        = string
}

variable "subnets" {
  description = "Private subnets by name."
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
  description = "Id of the hub's transit gateway."
  type        = string
}

variable "hub_cidr_block" {
  description = "Range of the hub, routed over its transit gateway."
  type        = string
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
