"""Serves moto on a free loopback port, prints the port, and ends when standard input closes."""

import ipaddress
import os
import sys
import threading
from typing import Any

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.ec2 import exceptions
from moto.ec2.models import elastic_ip_addresses
from moto.ec2.models.elastic_network_interfaces import NetworkInterfaceBackend
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.ec2.models.tags import TagBackend
from moto.ec2.utils import random_public_ip
from moto.iam.exceptions import NotFoundException
from moto.iam.models import IAMBackend
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket
from werkzeug.serving import make_server

# An elastic address is one that packets can be sent to, not one of 127.0.0.0/8.
elastic_ip_addresses.random_ip = random_public_ip

describe_all_tags = TagBackend.describe_tags


def describe_tags(self: TagBackend, filters: dict[str, list[str]] | None = None) -> list[dict[str, str]]:
    """The tags of one object are looked up.

    moto walks the tags of all objects for them, and does so for each object that a filter looks at: a thousand
    objects make a million steps of every call.
    """
    among = self
    ids = (filters or {}).get("resource-id", [])
    if ids and not any(letter in name for name in ids for letter in "*?\\"):
        among = TagBackend()
        among.tags.update({name: self.tags[name] for name in ids if name in self.tags})
    return describe_all_tags(among, filters)


TagBackend.describe_tags = describe_tags


def route_exists(self: exceptions.RouteAlreadyExistsError, cidr: str) -> None:
    """AWS ends the sentence."""
    exceptions.EC2ClientError.__init__(
        self, "RouteAlreadyExists", f"The route identified by {cidr} already exists."
    )


exceptions.RouteAlreadyExistsError.__init__ = route_exists


make_group = SecurityGroupBackend.create_security_group


def create_group(self: SecurityGroupBackend, name: str, *args: Any, vpc_id: str | None = None, **rest: Any) -> Any:
    """AWS names the VPC that has a group of this name."""
    try:
        return make_group(self, name, *args, vpc_id=vpc_id, **rest)
    except exceptions.InvalidSecurityGroupDuplicateError:
        raise exceptions.EC2ClientError(
            "InvalidGroup.Duplicate", f"The security group '{name}' already exists for VPC '{vpc_id}'"
        ) from None


SecurityGroupBackend.create_security_group = create_group


remove_listed_role = IAMBackend.remove_role_from_instance_profile


def remove_role(self: IAMBackend, profile_name: str, role_name: str) -> None:
    """A role that the profile does not have is not found, as it is for AWS.

    moto fails there: a call whose answer was lost could not be repeated.
    """
    if self.get_role(role_name) not in self.get_instance_profile(profile_name).roles:
        raise NotFoundException(f"Role {role_name} is not in instance profile {profile_name}.")
    remove_listed_role(self, profile_name, role_name)


IAMBackend.remove_role_from_instance_profile = remove_role


create_interface = NetworkInterfaceBackend.create_network_interface


def create_network_interface(self, subnet, private_ip_address=None, *more, **kinds):
    """An interface has a free address of its subnet.

    moto gives the interfaces of endpoints any address of 10.0.0.0/8, and others any of the subnet, also one that AWS
    reserves ("Subnet sizing for IPv4" in the VPC User Guide) or that is in use.
    """
    own = self.get_subnet(subnet) if isinstance(subnet, str) else subnet
    within = ipaddress.ip_network(own.cidr_block)
    wanted = private_ip_address[0] if isinstance(private_ip_address, list) and private_ip_address else private_ip_address
    if not more and (not wanted or ipaddress.ip_address(wanted) not in within):
        used = {eni.private_ip_address for eni in self.enis.values() if eni.subnet.id == own.id}
        free = (str(within[at]) for at in range(4, within.num_addresses - 1))
        private_ip_address = next(address for address in free if address not in used)
    return create_interface(self, subnet, private_ip_address, *more, **kinds)


NetworkInterfaceBackend.create_network_interface = create_network_interface


def no_permission_by_policy(self: FakeBucket, action: str, resource: str) -> PermissionResult:
    """Bucket policies are kept and not evaluated.

    moto ignores their conditions: a bucket that denies whatever does not come through an endpoint would deny everything.
    The data plane evaluates them where requests arrive, because only there is it known through which endpoint.
    """
    return PermissionResult.NEUTRAL


FakeBucket.get_permission = no_permission_by_policy


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
server = make_server(
    "127.0.0.1",
    0,
    DomainDispatcherApplication(create_backend_app),
    threaded=True,
    request_handler=MotoRequestHandler,
)
os.environ["MOTO_PORT"] = str(server.server_port)
print(server.server_port, flush=True)
server.serve_forever()
