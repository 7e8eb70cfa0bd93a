variable "name" {
  description = "Name of the gateways, used as the prefix of the names of all objects. Together with a hyphen and the short name of a gateway, it can have up to 23 characters."
  type        = string
}

variable "fabric" {
  description = "Fabric of the provider. The gateways accept only tokens of this fabric."
  type        = string
}

variable "network" {
  description = "ID of the network of the hub."
  type        = string
}

variable "network_cidr_blocks" {
  description = "IPv4 ranges of the network and its spokes, which may send traffic to peers through the gateways."
  type        = list(string)
}

variable "region" {
  description = "Region of the gateways and their addresses. Null for the region of the provider."
  type        = string
  default     = null
}

variable "gateways" {
  description = "Gateways by short name, each with its zone and subnetwork, and with overlay ranges that no other gateway has."
  type = map(object({
    zone                = string
    subnetwork          = string
    overlay_cidr_blocks = list(string)
  }))
}

variable "internet_route" {
  description = "Whether to create a default route for the gateways. Set it if the network has no default route."
  type        = bool
  default     = false
}

variable "image" {
  description = "Signed Linux image, or image family, with systemd, Google's guest agent and curl."
  type        = string
  default     = "projects/debian-cloud/global/images/family/debian-12"
}

variable "machine_type" {
  description = "Machine type of the gateways."
  type        = string
  default     = "n2-standard-2"
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s and per direction that is planned for each gateway. Metrics report the used share of it. Null for none."
  type        = number
  default     = null
}

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel, and optionally its architecture, `x86_64` or `arm64`, which is compared at plan time. Null if the image contains it in /usr/local/bin."
  type        = object({ url = string, sha256 = string, architecture = optional(string) })
  default     = null
}

variable "recovery" {
  description = "Whether Google Cloud recreates the VM of a gateway that fails or is deleted, through a managed instance group of one. The VM keeps addresses, keys, routes and leases. Changing this replaces the gateways."
  type        = bool
  default     = false
}

variable "ssh_through_iap" {
  description = "Whether Identity-Aware Proxy can reach TCP port 22 of the gateways, for SSH sessions with OS Login."
  type        = bool
  default     = false
}

variable "cloud_logging" {
  description = "Whether the gateways send their logs to Cloud Logging. Changing this replaces the VMs."
  type        = bool
  default     = false
}

variable "token_keys" {
  description = "Public keys (k4.public.…) of accepted enrolment tokens. List two during the rotation of a signing key."
  type        = list(string)
}

variable "retired_token_keys" {
  description = "Public keys (k4.public.…) whose tokens are no longer accepted, but whose leases stay until they end."
  type        = list(string)
  default     = []
}

variable "congestion" {
  description = "Congestion control of TCP to peers whose group sets none, where gateways forward through sockets: `bbr` or `cubic`. Null for the gateway's default, BBR. A change replaces no gateway."
  type        = string
  default     = null

  validation {
    condition     = var.congestion == null ? true : contains(["bbr", "cubic"], var.congestion)
    error_message = "The congestion control must be bbr or cubic."
  }
}

variable "groups" {
  description = "Destinations that each group of peers may reach: ranges and groups of pods (`group:NAME`) in `to`, with optional ports and protocols, and names from `services`. Everything else is denied. With `direct`, pods of the groups in `to` exchange packets without the gateway where possible. `congestion` overrides that of the gateways. `grants` are the objects for which pods get short-lived credentials: `gs://BUCKET/PREFIX/` with the access `read` or `read-write`. A change replaces no gateway."
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
    condition     = alltrue(flatten([for group in var.groups : [for rule in group.allow : length(concat(rule.to, rule.services)) > 0]]))
    error_message = "Each rule of a group needs a destination: set to or services."
  }
  validation {
    condition     = alltrue(flatten([for group in var.groups : [for rule in group.allow : [for to in concat(rule.to, rule.services) : startswith(to, "group:")] if rule.direct]]))
    error_message = "A direct rule names only groups of pods in to: write ranges and services in a rule of their own."
  }
  validation {
    condition = alltrue(flatten([for name, group in var.groups : [
      for rule in group.allow : [
        for of in concat([name], [for to in rule.to : trimprefix(to, "group:")]) :
        try(var.groups[of].rate_mbit, null) == null && try(var.groups[of].peer_rate_mbit, null) == null
      ] if rule.direct
    ]]))
    error_message = "The groups of a direct rule have no rates: the gateway cannot limit what does not pass it."
  }
  validation {
    condition     = alltrue([for group in var.groups : contains(["bbr", "cubic"], group.congestion) if group.congestion != null])
    error_message = "The congestion control of a group must be bbr or cubic."
  }
  validation {
    condition     = length(setsubtract(flatten([for group in var.groups : group.allow[*].services]), keys(var.services))) == 0
    error_message = "Each service in a rule must be a key of the input services."
  }
}

variable "tests" {
  description = "Flows that the rules of all groups must allow or deny: from a group, to an address or a group of pods (`group:NAME`) with a port. If the rules decide otherwise, the gateway refuses the configuration: it keeps the previous one, or does not start."
  type = list(object({
    from     = string
    to       = string
    protocol = optional(string, "tcp")
    allow    = bool
  }))
  default = []
}

variable "services" {
  description = "Services that rules of groups can name, such as the output `services` of the module `aws-hub`: the ranges, ports and protocols of each."
  type = map(object({
    prefixes  = list(string)
    ports     = optional(list(string))
    protocols = optional(list(string))
    domains   = optional(list(string), [])
  }))
  default = {}
}

variable "other_gateways" {
  description = "Gateways of the same fabric in other networks, as in the output `gateways` of another instance of this module."
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
  description = "Site-to-site peerings of each gateway by its short name: the overlay addresses that it sends from, and its peers with the ranges behind them."
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
  description = "Names that peers resolve through the tunnel: the gateways answer for the domains in `zones`, which they resolve with the listed resolvers. Peers resolve `domains` with `servers`, which their group must be able to reach."
  type = object({
    zones   = optional(list(object({ domains = list(string), resolvers = list(string) })), [])
    servers = optional(list(string), [])
    domains = optional(list(string), [])
  })
  default = {}

  validation {
    condition     = length(var.dns.zones) == 0 || length(var.dns.servers) == 0
    error_message = "Set either zones or servers."
  }
}

variable "key_rotation" {
  description = "Arbitrary label, such as a date. A change generates new WireGuard and TLS keys and replaces no gateway."
  type        = string
  default     = null
}

variable "secrets_replica_locations" {
  description = "Regions that store keys and configurations, for organisations with data residency requirements. Null for automatic replication."
  type        = set(string)
  default     = null
}

variable "secrets_kms_key_name" {
  description = "Cloud KMS key that encrypts the keys, in the location `global` or in the only location of `secrets_replica_locations`. Null for a key that Google manages."
  type        = string
  default     = null
}

variable "disk_kms_key_name" {
  description = "Cloud KMS key, in the region of the gateways, that encrypts their disks. Null for a key that Google manages."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels of every object that supports labels."
  type        = map(string)
  default     = {}
}
