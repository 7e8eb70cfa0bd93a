variable "name" {
  description = "Name of the gateways, used as the prefix of the names of all objects, up to 19 characters."
  type        = string
  default     = "gw"
}

variable "fabric" {
  description = "Fabric of the provider. The gateways accept only tokens of this fabric."
  type        = string
}

variable "aws" {
  description = "AWS hub: its VPC, the public subnet of the gateway, the ranges behind the gateway, and the gateway's part of the overlay. `pod_role_arn` is the role whose narrowed credentials pods get. `services` are what pods of both hubs can use, as in the outputs `resolver` and `services` of the module `aws-hub`. Ranges outside the hub must be known at plan time: those in `outside`, or else in `prefixes`."
  type = object({
    vpc_id             = string
    subnet_id          = string
    cidr_blocks        = list(string)
    overlay_cidr_block = string
    image_id           = string
    instance_type      = optional(string, "c6in.large")
    kms_key_arn        = optional(string)
    pod_role_arn       = optional(string)
    resolver           = optional(string, "169.254.169.253")
    services = optional(map(object({
      prefixes  = list(string)
      outside   = optional(list(string))
      ports     = optional(list(string))
      protocols = optional(list(string))
      domains   = optional(list(string), [])
    })), {})
  })
}

variable "gcp" {
  description = "Google Cloud hub: its network, the zone and subnetwork of the gateway, the ranges behind the gateway, and the gateway's part of the overlay. `services` are what pods of both hubs can use, as in the outputs `resolver` and `services` of the module `gcp-hub`. Set `internet_route` if the network has no default route."
  type = object({
    network              = string
    subnetwork           = string
    zone                 = string
    region               = optional(string)
    cidr_blocks          = list(string)
    overlay_cidr_block   = string
    internet_route       = optional(bool, false)
    image                = optional(string, "projects/debian-cloud/global/images/family/debian-12")
    machine_type         = optional(string, "n2-standard-2")
    secrets_kms_key_name = optional(string)
    disk_kms_key_name    = optional(string)
    resolver             = optional(string, "169.254.169.254")
    services = optional(map(object({
      prefixes  = list(string)
      outside   = optional(list(string))
      ports     = optional(list(string))
      protocols = optional(list(string))
      domains   = optional(list(string), [])
    })), {})
  })
}

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel. Null if the images contain it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s and per direction that is planned for each gateway. Metrics report the used share of it. Null for none."
  type        = number
  default     = null
}

variable "token_keys" {
  description = "Public keys (k4.public.…) of enrolment tokens that both gateways accept. List two during the rotation of a signing key."
  type        = list(string)
}

variable "congestion" {
  description = "Congestion control of TCP to peers whose group sets none, where gateways forward through sockets: `bbr` or `cubic`. Null for the gateway's default, BBR."
  type        = string
  default     = null
}

variable "groups" {
  description = "Destinations in both clouds that each group of peers may reach: ranges in `to`, with optional ports and protocols, and `services` of both clouds by name. With `direct`, pods of the groups in `to` (`group:NAME`) at one gateway exchange packets without it where possible. `congestion` overrides that of the gateways. `grants` are the objects for which pods get short-lived credentials, `s3://BUCKET/PREFIX/` from the gateway in AWS and `gs://BUCKET/PREFIX/` from that in Google Cloud, with the access `read` or `read-write`. A change replaces no gateway."
  type = map(object({
    rate_mbit      = optional(number)
    peer_rate_mbit = optional(number)
    congestion     = optional(string)
    allow = optional(list(object({
      to        = optional(list(string), [])
      ports     = optional(list(string))
      protocols = optional(list(string))
      services  = optional(list(string), [])
      direct    = optional(bool, false)
    })), [])
    grants = optional(list(object({ objects = string, access = string })), [])
  }))
  default = {}

  validation {
    condition     = alltrue(flatten([for group in var.groups : [for grant in group.grants : startswith(grant.objects, "s3://") || startswith(grant.objects, "gs://")]]))
    error_message = "The objects of each grant must begin with s3:// or gs://."
  }
}

variable "tests" {
  description = "Flows that the rules of both gateways must allow or deny: from a group, to an address or a group of pods (`group:NAME`) with a port. A gateway whose rules decide otherwise refuses the configuration: it keeps the previous one, or does not start."
  type = list(object({
    from     = string
    to       = string
    protocol = optional(string, "tcp")
    allow    = bool
  }))
  default = []
}

variable "between" {
  description = "Ports and protocols that may pass from one cloud to the other, in addition to the check of the peer's group. Null allows all of them."
  type = list(object({
    ports     = optional(list(string))
    protocols = optional(list(string))
  }))
  default = [{}]
}

variable "key_rotation" {
  description = "Arbitrary label, such as a date. A change generates new WireGuard and TLS keys and replaces no gateway."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels and tags of every object that supports them. Google Cloud accepts lowercase letters only."
  type        = map(string)
  default     = {}
}
