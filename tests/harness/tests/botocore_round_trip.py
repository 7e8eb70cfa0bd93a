"""Creates, lists and deletes one of everything with a real AWS client, through every habit of the proxy."""

import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError


def client(service):
    return boto3.client(
        service,
        endpoint_url=sys.argv[1],
        region_name="us-east-1",
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="example",
        config=Config(s3={"addressing_style": "path"}),
    )


ec2, ecr, sts, s3 = client("ec2"), client("ecr"), client("sts"), client("s3")


def patient(call, *retry, **params):
    """Repeats while the object is not known yet, or something else still needs it."""
    for _ in range(20):
        try:
            return call(**params)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if not (code in retry or "NotFound" in code):
                raise
            time.sleep(0.01)
    raise AssertionError("never became possible")


def until(states, list_, key, **params):
    for _ in range(20):
        found = patient(list_, **params)[key]
        state = found[0].get("State") or found[0]["Status"]["Code"] if found else "gone"
        if state in states:
            return
        time.sleep(0.01)
    raise AssertionError(f"{params} never became {states}")


def tags(kind, name):
    return [{"ResourceType": kind, "Tags": [{"Key": "Name", "Value": name}]}]


assert sts.get_caller_identity()["Account"]
vpc = ec2.create_vpc(CidrBlock="10.1.0.0/16", TagSpecifications=tags("vpc", "hub"))["Vpc"]["VpcId"]
patient(ec2.modify_vpc_attribute, VpcId=vpc, EnableDnsHostnames={"Value": True})
subnet = patient(ec2.create_subnet, VpcId=vpc, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
igw = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
patient(ec2.attach_internet_gateway, InternetGatewayId=igw, VpcId=vpc)
eip = ec2.allocate_address(Domain="vpc")["AllocationId"]
nat = patient(ec2.create_nat_gateway, SubnetId=subnet, AllocationId=eip)["NatGateway"]["NatGatewayId"]
until(["available"], ec2.describe_nat_gateways, "NatGateways", NatGatewayIds=[nat])
table = patient(ec2.create_route_table, VpcId=vpc)["RouteTable"]["RouteTableId"]
patient(ec2.create_route, RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
association = patient(ec2.associate_route_table, RouteTableId=table, SubnetId=subnet)["AssociationId"]
group = patient(ec2.create_security_group, GroupName="e", Description="e", VpcId=vpc)["GroupId"]
permission = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "10.1.0.0/16"}]}
patient(ec2.authorize_security_group_ingress, GroupId=group, IpPermissions=[permission])
gateway_endpoint = patient(
    ec2.create_vpc_endpoint, VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table]
)["VpcEndpoint"]["VpcEndpointId"]
interface_endpoint = patient(
    ec2.create_vpc_endpoint,
    VpcId=vpc,
    ServiceName="com.amazonaws.us-east-1.ecr.api",
    VpcEndpointType="Interface",
    SubnetIds=[subnet],
    SecurityGroupIds=[group],
    PrivateDnsEnabled=True,
)["VpcEndpoint"]["VpcEndpointId"]
for endpoint in (gateway_endpoint, interface_endpoint):
    until(["available"], ec2.describe_vpc_endpoints, "VpcEndpoints", VpcEndpointIds=[endpoint])

patient(ec2.describe_subnets, SubnetIds=[subnet])  # from here on lists know it too
names = [subnet_["SubnetId"] for page in ec2.get_paginator("describe_subnets").paginate() for subnet_ in page["Subnets"]]
assert subnet in names and len(names) == len(set(names)) > 5, names

ecr.create_repository(repositoryName="train", imageTagMutability="IMMUTABLE", tags=[{"Key": "a", "Value": "b"}])
assert ecr.describe_repositories()["repositories"][0]["repositoryName"] == "train"
ecr.delete_repository(repositoryName="train")
s3.create_bucket(Bucket="claims")
s3.put_object(Bucket="claims", Key="a", Body=b"1", IfNoneMatch="*")
assert s3.get_object(Bucket="claims", Key="a")["Body"].read() == b"1"
s3.delete_object(Bucket="claims", Key="a")
s3.delete_bucket(Bucket="claims")

for endpoint in (gateway_endpoint, interface_endpoint):
    patient(ec2.delete_vpc_endpoints, VpcEndpointIds=[endpoint])
patient(ec2.delete_nat_gateway, NatGatewayId=nat)
until(["deleted"], ec2.describe_nat_gateways, "NatGateways", NatGatewayIds=[nat])
patient(ec2.release_address, "InvalidIPAddress.InUse", AllocationId=eip)
patient(ec2.disassociate_route_table, AssociationId=association)
patient(ec2.delete_route_table, "DependencyViolation", RouteTableId=table)
patient(ec2.delete_security_group, "DependencyViolation", GroupId=group)
patient(ec2.delete_subnet, "DependencyViolation", SubnetId=subnet)
patient(ec2.detach_internet_gateway, "DependencyViolation", InternetGatewayId=igw, VpcId=vpc)
patient(ec2.delete_internet_gateway, "DependencyViolation", InternetGatewayId=igw)
patient(ec2.delete_vpc, "DependencyViolation", VpcId=vpc)
