# Earlier versions declared the endpoints in this module.

moved {
  from = warren_aws_security_group.endpoints
  to   = module.endpoints.warren_aws_security_group.endpoints
}

moved {
  from = warren_aws_vpc_endpoint.s3
  to   = module.endpoints.warren_aws_vpc_endpoint.s3
}

moved {
  from = warren_aws_vpc_endpoint.ecr_api
  to   = module.endpoints.warren_aws_vpc_endpoint.ecr_api
}

moved {
  from = warren_aws_vpc_endpoint.ecr_dkr
  to   = module.endpoints.warren_aws_vpc_endpoint.ecr_dkr
}
