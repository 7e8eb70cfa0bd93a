variable "name" {
  description = "Name of the gateways; every object's name begins with it. Up to 19 characters."
  type        = string
  default     = "gw"
}

variable "fabric" {
  description = "The provider's fabric; the gateways take tokens of this fabric only."
  type        = string
}

variable "aws" {
  description = "The AWS hub: its VPC, the public subnet of the gateway, the ranges behind it, and its gateway's part of the overlay."
  type = object({
    vpc_id             = string
    subnet_id          = string
    cidr_blocks        = list(string)
    overlay_cidr_block = string
    image_id           = string
    instance_type      = optional(string, "c6in.large")
    kms_key_arn        = optional(string)
  })
}

variable "gcp" {
  description = "The Google Cloud hub: its network, zone and subnetwork of the gateway, the ranges behind it, and its gateway's part of the overlay. Set `internet_route` where the network has no default route."
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
  })
}

variable "release" {
  description = "Where the static binary warren-tunnel is downloaded from, and its SHA-256; null if the images have it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s, each way, that was planned for each gateway; metrics tell how much of it is used. Null if none was."
  type        = number
  default     = null
}

variable "token_keys" {
  description = "Public keys whose tokens are accepted in both clouds, k4.public.…; two while a signing key is rotated."
  type        = list(string)
}

variable "groups" {
  description = "What each group of peers may reach, in whichever cloud it is. Changes replace nothing."
  type = map(object({
    rate_mbit      = optional(number)
    peer_rate_mbit = optional(number)
    allow = optional(list(object({
      to        = list(string)
      ports     = optional(list(string))
      protocols = optional(list(string))
    })), [])
  }))
  default = {}
}

variable "between" {
  description = "What may pass from one cloud to the other, on top of what the peers' groups allow: ports and protocols; null is all of them."
  type = list(object({
    ports     = optional(list(string))
    protocols = optional(list(string))
  }))
  default = [{}]
}

variable "key_rotation" {
  description = "Any word, such as a date. A change makes new WireGuard and TLS keys and replaces no gateway."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels and tags of every object that has some: lower case, as Google wants them."
  type        = map(string)
  default     = {}
}
