resource "warren_address_plan" "main" {
  pools = { private = ["10.0.0.0/12"] }

  networks = {
    hub      = { pool = "private", prefix = 16 }
    training = { pool = "private", hosts = 4000 }
  }
}

output "ranges" {
  value = warren_address_plan.main.cidrs
}
