resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_flow_log" "rejected" {
  name             = "acme-hub-rejected"
  vpc_id           = warren_aws_vpc.hub.id
  traffic_type     = "REJECT"
  destination_type = "cloud-watch-logs"
  destination_arn  = "arn:aws:logs:us-east-1:123456789012:log-group:/acme/flow-logs"
  iam_role_arn     = "arn:aws:iam::123456789012:role/acme-flow-logs"

  max_aggregation_interval = 60
  log_format               = "$${interface-id} $${srcaddr} $${dstaddr} $${dstport} $${protocol} $${action}"

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
