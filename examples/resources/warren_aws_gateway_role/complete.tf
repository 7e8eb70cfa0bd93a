resource "warren_aws_gateway_role" "gateway" {
  name                 = "acme-gw-a"
  parameters           = ["/warren/gw-a/config", "/warren/gw-a/tls", "/warren/gw-a/wireguard"]
  kms_key_arns         = ["arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"]
  session_manager      = true
  log_group_arn        = "arn:aws:logs:us-east-1:123456789012:log-group:/warren/gateways"
  attach_volumes_of    = "acme-gw-a"
  pod_role_arn         = "arn:aws:iam::123456789012:role/warren-pods"
  permissions_boundary = "arn:aws:iam::123456789012:policy/acme-workload-boundary"

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
