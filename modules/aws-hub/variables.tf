variable "name" {
  description = "Name of the hub, used as the prefix of the names of all objects."
  type        = string
}

variable "cidr_block" {
  description = "IPv4 range of the VPC in CIDR notation, /16 to /28."
  type        = string
}

variable "public_cidr_block" {
  description = "IPv4 range of the public subnet, which contains the NAT gateway. No other subnet has a route to the internet gateway."
  type        = string
}

variable "data_cidr_block" {
  description = "IPv4 range of the data subnet, which contains the interface endpoints."
  type        = string
}

variable "ml_cidr_block" {
  description = "IPv4 range of the ML subnet, for training in the hub."
  type        = string
}

variable "availability_zone" {
  description = "Availability Zone of the subnets, such as us-east-1a."
  type        = string
}

variable "spoke_cidr_blocks" {
  description = "IPv4 ranges of the spokes by name. The hub routes them to its transit gateway, and its interface endpoints accept traffic from them."
  type        = map(string)
  default     = {}
}

variable "isolate_spokes" {
  description = "Whether the transit gateway drops traffic from one spoke to another."
  type        = bool
  default     = true
}

variable "endpoints" {
  description = "Location of the endpoints that spokes use: `hub` (interface endpoints for S3 and ECR in the hub, with private hosted zones for all VPCs) or `spoke` (endpoints in each spoke)."
  type        = string
  default     = "spoke"

  validation {
    condition     = contains(["hub", "spoke"], var.endpoints)
    error_message = "Set endpoints to \"hub\" or \"spoke\"."
  }
}

variable "buckets" {
  description = "Names of the buckets that the endpoints for S3 allow. The bucket with the image layers of ECR is always allowed."
  type        = list(string)
}

variable "flow_log_bucket_arn" {
  description = "ARN of an S3 bucket for the flow log of the VPC. Null for no flow log."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
