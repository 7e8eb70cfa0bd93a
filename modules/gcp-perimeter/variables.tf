variable "access_policy" {
  description = "Number of the organisation's access policy: `gcloud access-context-manager policies list --organization N`."
  type        = string
}

variable "name" {
  description = "Name of the perimeter: letters, digits and `_`, a letter first."
  type        = string
}

variable "title" {
  description = "What people call it; unique in the access policy. Null for the name."
  type        = string
  default     = null
}

variable "description" {
  description = "What the perimeter is for."
  type        = string
  default     = null
}

variable "project_numbers" {
  description = "Projects inside, by number: `gcloud projects describe acme-ml --format='value(projectNumber)'`."
  type        = set(string)

  validation {
    condition     = length(var.project_numbers) > 0
    error_message = "A perimeter without projects protects nothing."
  }
}

variable "restricted_services" {
  description = "The APIs that are protected, and the only ones that networks inside may call."
  type        = set(string)
  default     = ["artifactregistry.googleapis.com", "compute.googleapis.com", "secretmanager.googleapis.com", "storage.googleapis.com"]
}

variable "access_levels" {
  description = "Access levels of the same policy that let callers in from the internet."
  type        = set(string)
  default     = []
}

variable "ingress" {
  description = "Projects outside, by number, whose service accounts may call APIs of the projects inside: `{ \"123456789012\" = [\"artifactregistry.googleapis.com\"] }`."
  type        = map(set(string))
  default     = {}
}

variable "egress" {
  description = "Projects outside, by number, that service accounts inside may reach, and by which APIs."
  type        = map(set(string))
  default     = {}
}

variable "enforced" {
  description = "Whether calls are refused. Else they are logged only: begin so, look at the logs, then enforce."
  type        = bool
  default     = false
}
