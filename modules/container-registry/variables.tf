variable "name" {
  description = "Name of the image, such as trainer: 2 to 63 characters of a-z, 0-9 and -."
  type        = string
}

variable "location" {
  description = "Location of the repository in Artifact Registry, such as us-central1; null for the provider's region."
  type        = string
  default     = null
}

variable "keep_last_images" {
  description = "How many images stay in each registry, the newest."
  type        = number
  default     = 20
}

variable "aws_kms_key_arn" {
  description = "ARN of the KMS key that encrypts images in ECR; null for AES256."
  type        = string
  default     = null
}

variable "gcp_kms_key_name" {
  description = "Name of the Cloud KMS key that encrypts images in Artifact Registry; null for Google's own."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags in AWS."
  type        = map(string)
  default     = {}
}

variable "labels" {
  description = "Labels in Google Cloud."
  type        = map(string)
  default     = {}
}
