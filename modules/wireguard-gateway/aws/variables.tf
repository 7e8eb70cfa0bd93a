variable "name" {
  description = "Name of the gateways; every object's name begins with it."
  type        = string
}

variable "fabric" {
  description = "The provider's fabric; the gateways take tokens of this fabric only."
  type        = string
}

variable "vpc_id" {
  description = "Id of the hub's VPC."
  type        = string
}

variable "vpc_cidr_blocks" {
  description = "Ranges of the VPC and its spokes, which may send to peers through the gateways."
  type        = list(string)
}

variable "gateways" {
  description = "The gateways by a short name: the public subnet that each is in, and its part of the overlay, which no other has."
  type = map(object({
    subnet_id           = string
    overlay_cidr_blocks = list(string)
  }))
}

variable "image_id" {
  description = "Id of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

variable "instance_type" {
  description = "Type of the instances."
  type        = string
  default     = "c6in.large"
}

variable "release" {
  description = "Where the static binary warren-tunnel is downloaded from, and its SHA-256; null if the image has it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
  default     = null
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s, each way, that was planned for each gateway; metrics tell how much of it is used. Null if none was."
  type        = number
  default     = null
}

variable "token_keys" {
  description = "Public keys whose tokens are accepted, k4.public.…; two while a signing key is rotated."
  type        = list(string)
}

variable "groups" {
  description = "What each group of peers may reach; what is not allowed is refused. Changes replace nothing."
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

variable "other_gateways" {
  description = "The fabric's gateways elsewhere, as the output `gateways` of a module like this one."
  type = list(object({
    name = string
    key  = string
    udp  = string
    tls  = string
    pins = list(string)
  }))
  default = []
}

variable "sites" {
  description = "What each gateway, by its short name, is peered with in other networks: the addresses that it sends from, of its part of the overlay, and its peers with what is behind them."
  type = map(object({
    addresses = list(string)
    peers = list(object({
      name      = string
      key       = string
      endpoint  = string
      addresses = list(string)
      prefixes  = list(string)
      group     = string
    }))
  }))
  default = {}
}

variable "dns" {
  description = "Resolvers for peers, and the domains that are asked there."
  type        = object({ servers = list(string), domains = list(string) })
  default     = { servers = [], domains = [] }
}

variable "key_rotation" {
  description = "Any word, such as a date. A change makes new WireGuard and TLS keys and replaces no gateway."
  type        = string
  default     = null
}

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts keys and disks; null for AWS's own."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
