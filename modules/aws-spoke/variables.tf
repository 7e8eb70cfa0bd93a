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

variable "spoke_route_table_id" {
  description = "ID of the transit gateway route table of the spokes, an output of the module `aws-hub`."
  type        = string
}

variable "hub_route_table_id" {
  description = "ID of the transit gateway route table of the hub, an output of the module `aws-hub`."
  type        = string
}

variable "hub_cidr_block" {
  description = "IPv4 range of the hub."
  type        = string
}

variable "isolated" {
  description = "Whether the other spokes get no route to this spoke. Set it to the value of `isolate_spokes` of the hub."
  type        = bool
  default     = true
}

variable "zone_ids" {
  description = "IDs of the private hosted zones of the hub, for the names of S3 and ECR: the output `dns_zone_ids` of the module `aws-hub`."
  type        = map(string)
  default     = {}
}

variable "internet" {
  description = "Whether the spoke opens connections to the internet through the NAT gateway of the hub. Otherwise, it reaches only the hub and its own endpoints."
  type        = bool
  default     = true
}

variable "buckets" {
  description = "Names of the buckets that the spoke's own endpoint for S3 allows. Null for no endpoints in the spoke, which then uses those of the hub."
  type        = list(string)
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
