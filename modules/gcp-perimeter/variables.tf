variable "access_policy" {
  description = "Number of the access policy of the organisation, as `gcloud access-context-manager policies list --organization N` prints it."
  type        = string
}

variable "name" {
  description = "Name of the perimeter: letters, digits and underscores, starting with a letter."
  type        = string
}

variable "title" {
  description = "Human-readable title, unique in the access policy. Null for the name."
  type        = string
  default     = null
}

variable "description" {
  description = "Description of the perimeter."
  type        = string
  default     = null
}

variable "project_numbers" {
  description = "Numbers of the projects inside the perimeter, as `gcloud projects describe acme-ml --format='value(projectNumber)'` prints them."
  type        = set(string)

  validation {
    condition     = length(var.project_numbers) > 0
    error_message = "A perimeter needs at least one project."
  }
}

variable "restricted_services" {
  description = "APIs that the perimeter protects. Networks inside can call no other APIs."
  type        = set(string)
  default     = ["artifactregistry.googleapis.com", "compute.googleapis.com", "secretmanager.googleapis.com", "storage.googleapis.com"]
}

variable "access_levels" {
  description = "Access levels of the same access policy that admit callers from the internet."
  type        = set(string)
  default     = []
}

variable "ingress" {
  description = "Numbers of projects outside whose service accounts can call APIs of the projects inside, with the APIs: `{ \"123456789012\" = [\"artifactregistry.googleapis.com\"] }`."
  type        = map(set(string))
  default     = {}
}

variable "egress" {
  description = "Numbers of projects outside that service accounts inside can reach, with the APIs."
  type        = map(set(string))
  default     = {}
}

variable "enforced" {
  description = "Whether Google denies requests that cross the perimeter. If false, it only logs them: review the logs before you enforce the perimeter."
  type        = bool
  default     = false
}
