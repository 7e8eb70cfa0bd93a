variable "name" {
  description = "Prefix of the names of all objects."
  type        = string
}

variable "region" {
  description = "Region of the VPC, such as us-east-1."
  type        = string
}

variable "vpc_id" {
  description = "ID of the VPC."
  type        = string
}

variable "route_table_ids" {
  description = "IDs of the route tables that get a route to the gateway endpoint for S3."
  type        = list(string)
}

variable "subnet_ids" {
  description = "IDs of the subnets of the interface endpoints, at most one in each Availability Zone."
  type        = list(string)
}

variable "client_cidr_blocks" {
  description = "IPv4 ranges from which the interface endpoints accept HTTPS."
  type        = list(string)
}

variable "buckets" {
  description = "Names of the buckets that the endpoints for S3 allow. The bucket with the image layers of ECR is always allowed."
  type        = list(string)
}

variable "shared" {
  description = "Whether other VPCs use the endpoints. If `true`, S3 gets an interface endpoint too, and private hosted zones that other VPCs can be associated with replace the private DNS names of the endpoints."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
