variable "name" {
  description = "Name of the hub; every object's name begins with it."
  type        = string
}

variable "cidr_block" {
  description = "Range of the VPC, /16 to /28."
  type        = string
}

variable "public_cidr_block" {
  description = "Range of the public subnet: NAT gateway and bastion. Nothing else has a public address."
  type        = string
}

variable "data_cidr_block" {
  description = "Range of the data subnet: the interface endpoints."
  type        = string
}

variable "ml_cidr_block" {
  description = "Range of the ML subnet: the tunnel endpoint and in-cloud training."
  type        = string
}

variable "availability_zone" {
  description = "Zone of the subnets, such as us-east-1a."
  type        = string
}

variable "spoke_cidr_blocks" {
  description = "Ranges of the spokes by name. The hub routes to them over its transit gateway, and its endpoints let them in."
  type        = map(string)
  default     = {}
}

variable "buckets" {
  description = "Buckets that may be reached through the S3 endpoint. ECR's layer bucket is always allowed."
  type        = list(string)
}

variable "flow_log_bucket_arn" {
  description = "ARN of a bucket for the VPC's flow log; null for none."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
