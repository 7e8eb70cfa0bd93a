variable "name" {
  description = "Name of the gateways, used as the prefix of the names of all objects."
  type        = string
}

variable "fabric" {
  description = "Fabric of the provider. The gateways accept only tokens of this fabric."
  type        = string
}

variable "vpc_id" {
  description = "ID of the VPC of the hub."
  type        = string
}

variable "vpc_cidr_blocks" {
  description = "IPv4 ranges of the VPC and its spokes, which may send traffic to peers through the gateways."
  type        = list(string)
}

variable "gateways" {
  description = "Gateways by short name, each with the ID of its public subnet and with overlay ranges that no other gateway has."
  type = map(object({
    subnet_id           = string
    overlay_cidr_blocks = list(string)
  }))
}

variable "image_id" {
  description = "ID of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023."
  type        = string
}

variable "instance_type" {
  description = "EC2 instance type of the gateways."
  type        = string
  default     = "c6in.large"
}

variable "release" {
  description = "URL and SHA-256 digest of the static binary warren-tunnel, and optionally its architecture, `x86_64` or `arm64`, which is compared at plan time. Null if the image contains it in /usr/local/bin."
  type        = object({ url = string, sha256 = string, architecture = optional(string) })
  default     = null
}

variable "recovery" {
  description = "Whether AWS replaces the instance of a gateway that fails or is terminated, through an Auto Scaling group of one. The replacement keeps addresses, keys, routes and leases. Changing this replaces the gateways."
  type        = bool
  default     = false
}

variable "session_manager" {
  description = "Whether AWS Systems Manager Session Manager can open shells on the gateways. The image needs SSM Agent, which Amazon Linux 2023 and Ubuntu contain."
  type        = bool
  default     = false
}

variable "key_name" {
  description = "Name of the EC2 key pair that opens SSH sessions, for debugging. Changing this replaces the gateways. Null for none."
  type        = string
  default     = null
}

variable "ssh_cidr_blocks" {
  description = "IPv4 ranges that can reach TCP port 22 of the gateways."
  type        = list(string)
  default     = []
}

variable "log_group_arn" {
  description = "ARN of the CloudWatch Logs log group that receives the logs of the gateways. The log group determines the retention. Null for none."
  type        = string
  default     = null
}

variable "planned_rate_mbit" {
  description = "Rate in Mbit/s and per direction that is planned for each gateway. Metrics report the used share of it. Null for none."
  type        = number
  default     = null
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
  description = "Destinations that each group of peers may reach: ranges and groups of pods (`group:NAME`) in `to`, with optional ports and protocols, and names from `services`. Everything else is denied. With `direct`, pods of the groups in `to` exchange packets without the gateway where possible. `congestion` overrides that of the gateways. `grants` are the objects for which pods get short-lived credentials: `s3://BUCKET/PREFIX/` with the access `read` or `read-write`. A change replaces no gateway."
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

variable "pod_role_arn" {
  description = "ARN of the role whose credentials pods get, narrowed to the `grants` of their group: `arn:aws:iam::ACCOUNT:role/NAME`. Its trust policy must allow the roles in the output `role_arns` to assume it. Required with `grants`."
  type        = string
  default     = null
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

variable "kms_key_arn" {
  description = "ARN of the KMS key that encrypts keys and, without recovery, disks. Null for the AWS managed keys."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every object."
  type        = map(string)
  default     = {}
}
