resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_subnet" "private" {
  name              = "acme-hub-private"
  vpc_id            = warren_aws_vpc.hub.id
  vpc_cidr_block    = warren_aws_vpc.hub.cidr_block
  cidr_block        = "10.20.1.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_route_table" "private" {
  name       = "acme-hub-private"
  vpc_id     = warren_aws_vpc.hub.id
  subnet_ids = [warren_aws_subnet.private.id]
}

resource "warren_aws_security_group" "endpoints" {
  name   = "acme-hub-endpoints"
  vpc_id = warren_aws_vpc.hub.id

  ingress = [{
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = [warren_aws_vpc.hub.cidr_block]
  }]
}

# Image pulls from ECR use all three endpoints.
resource "warren_aws_vpc_endpoint" "s3" {
  name            = "acme-hub-s3"
  vpc_id          = warren_aws_vpc.hub.id
  service         = "s3"
  type            = "Gateway"
  route_table_ids = [warren_aws_route_table.private.id]

  bucket_policy = {
    buckets        = ["acme-datasets", "acme-checkpoints"]
    object_actions = ["s3:GetObject", "s3:PutObject"]
    ecr_layers     = true
  }
}

resource "warren_aws_vpc_endpoint" "ecr_api" {
  name               = "acme-hub-ecr-api"
  vpc_id             = warren_aws_vpc.hub.id
  service            = "ecr.api"
  subnet_ids         = [warren_aws_subnet.private.id]
  security_group_ids = [warren_aws_security_group.endpoints.id]
}

resource "warren_aws_vpc_endpoint" "ecr_dkr" {
  name                = "acme-hub-ecr-dkr"
  vpc_id              = warren_aws_vpc.hub.id
  service             = "ecr.dkr"
  type                = "Interface"
  subnet_ids          = [warren_aws_subnet.private.id]
  security_group_ids  = [warren_aws_security_group.endpoints.id]
  private_dns_enabled = true
  ip_address_type     = "ipv4"
  allow_incomplete    = false

  dns_options = {
    dns_record_ip_type = "ipv4"
  }

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = "*"
      Action    = ["ecr:BatchGetImage", "ecr:GetAuthorizationToken", "ecr:GetDownloadUrlForLayer"]
      Resource  = "*"
    }]
  })

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }

  # Terraform plans the other two first, so that the plan can check that they exist.
  depends_on = [warren_aws_vpc_endpoint.s3, warren_aws_vpc_endpoint.ecr_api]
}
