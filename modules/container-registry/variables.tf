variable "name" {
  description = "Name of the image, such as trainer: 2 to 63 characters from a-z, 0-9 and -."
  type        = string
}

variable "location" {
  description = "Location of the Artifact Registry repository, such as us-central1. Null for the region of the provider."
  type        = string
  default     = null
}

variable "keep_last_images" {
  description = "Number of images to keep in each registry, the newest."
  type        = number
  default     = 20
}

variable "aws_kms_key_arn" {
  description = "ARN of the KMS key that encrypts images in ECR. Null for AES256."
  type        = string
  default     = null
}

variable "gcp_kms_key_name" {
  description = "Name of the Cloud KMS key that encrypts images in Artifact Registry. Null for a key that Google manages."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of the ECR repository."
  type        = map(string)
  default     = {}
}

variable "labels" {
  description = "Labels of the Artifact Registry repository."
  type        = map(string)
  default     = {}
}
