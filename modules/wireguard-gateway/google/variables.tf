variable "name" {
  description = "Name of the gateways; every object's name begins with it. Up to 23 characters together with a dash and a gateway's short name."
  type        = string
}

variable "fabric" {
  description = "The provider's fabric; the gateways take tokens of this fabric only."
  type        = string
}

variable "network" {
  description = "Id of the hub's network."
  type        = string
}

variable "network_cidr_blocks" {
  description = "Ranges of the network and its spokes, which may send to peers through the gateways."
  type        = list(string)
}

variable "region" {
  description = "Region of the gateways and their addresses; null for the provider's."
  type        = string
  default     = null
}

variable "gateways" {
  description = "The gateways by a short name: the zone and the subnetwork that each is in, and its part of the overlay, which no other has."
  type = map(object({
    zone                = string
    subnetwork          = string
    overlay_cidr_blocks = list(string)
  }))
}

variable "internet_route" {
  description = "Whether the gateways get a default route of their own, where the network has none."
  type        = bool
  default     = false
}

variable "image" {
  description = "A signed Linux image with systemd, Google's guest agent and curl, or its family."
  type        = string
  default     = "projects/debian-cloud/global/images/family/debian-12"
}

variable "machine_type" {
  description = "Type of the instances."
  type        = string
  default     = "n2-standard-2"
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s, each way, that was planned for each gateway; metrics tell how much of it is used. Null if none was."
  type        = number
  default     = null
}

variable "release" {
  description = "Where the static binary warren-tunnel is downloaded from, and its SHA-256; null if the image has it in /usr/local/bin."
  type        = object({ url = string, sha256 = string })
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

variable "secrets_replica_locations" {
  description = "Regions that keys and configurations are kept in, for organisations that bind data to places; null where Google may choose."
  type        = set(string)
  default     = null
}

variable "secrets_kms_key_name" {
  description = "Key of Cloud KMS that encrypts the keys, in the location `global` or in the only one of `secrets_replica_locations`; null for Google's own."
  type        = string
  default     = null
}

variable "disk_kms_key_name" {
  description = "Key of Cloud KMS in the gateways' region that encrypts their disks; null for Google's own."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels of every object that has some."
  type        = map(string)
  default     = {}
}
