resource "warren_aws_vpc" "hub" {
  name       = "acme-hub"
  cidr_block = "10.20.0.0/16"
}

resource "warren_aws_security_group" "bastion" {
  name   = "acme-hub-bastion"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_security_group" "training" {
  name        = "acme-hub-training"
  description = "Training nodes"
  vpc_id      = warren_aws_vpc.hub.id

  # Required for the rule that admits the internet.
  allow_public_ingress = true

  ingress = [
    {
      protocol         = "tcp"
      from_port        = 443
      to_port          = 443
      cidr_blocks      = ["0.0.0.0/0"]
      ipv6_cidr_blocks = ["::/0"]
      description      = "Dashboard"
    },
    {
      protocol           = "tcp"
      from_port          = 22
      to_port            = 22
      security_group_ids = [warren_aws_security_group.bastion.id]
      description        = "SSH from the bastion"
    },
    {
      protocol    = "-1"
      same_group  = true
      description = "Collective operations between the nodes"
    },
  ]

  egress = [{
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
    description = "All outbound traffic"
  }]

  tags = {
    team        = "platform"
    environment = "production"
  }

  timeouts = {
    create = "10m"
    delete = "10m"
  }
}
