resource "warren_address_plan" "main" {
  name = "llm-training"

  pools = {
    aws     = ["172.16.0.0/12"]
    gcp     = ["10.0.0.0/12", "10.32.0.0/12"]
    overlay = ["10.100.0.0/16"]
    ipv6    = ["fd12:3456:789a::/48"]
  }

  # No network may overlap these ranges.
  reserved = {
    on_prem = ["10.8.0.0/16"]
    docker  = ["172.17.0.0/16"]
  }

  networks = {
    # A fixed range, divided into subnets.
    aws = {
      pool  = "aws"
      cidr  = "172.20.0.0/16"
      cloud = "aws"
      subnets = {
        public = { prefix = 24 }
        data   = { cidr = "172.20.128.0/20" }
        ml     = { hosts = 200, growth = 2.0 } # room for 400 hosts
      }
    }

    # A block of a given size from one of two ranges of a pool.
    gcp_hub = { pool = "gcp", prefix = 16, cloud = "gcp" }

    # The smallest block for a number of hosts, from either pool.
    gcp_training = { pools = ["gcp", "aws"], hosts = 1000, growth = 1.5, cloud = "gcp" }

    overlay  = { pool = "overlay", prefix = 24, cloud = "overlay" }
    services = { pool = "ipv6", prefix = 112 }
  }

  # Allow a later change to move the subnet `ml`; all other ranges stay.
  acknowledge_renumbering = ["aws/ml"]
}

output "vpc_cidr" {
  value = warren_address_plan.main.cidrs["aws"]
}

output "ml_subnet" {
  description = "Range of the subnet and number of hosts that it has room for."
  value       = warren_address_plan.main.network["aws"].subnets["ml"]
}

output "free" {
  description = "Unused address space by pool."
  value       = warren_address_plan.main.free
}
