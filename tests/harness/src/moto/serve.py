"""Serves moto on a free loopback port, prints the port, and ends when standard input closes."""

import functools
import gc
import ipaddress
import logging
import os
import sys
import threading
from typing import Any

# The modules are a million objects that stay: a collector that walks them again and again takes an eighth of the time.
gc.disable()

from moto.core import responses
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.autoscaling.exceptions import AutoscalingClientError
from moto.autoscaling.models import (
    AutoScalingBackend,
    FakeAutoScalingGroup,
    InstanceState,
    TerminateInstanceActivity,
)
from moto.core.types import Base64EncodedString
from moto.ec2 import exceptions
from moto.ec2.models import amis, elastic_ip_addresses
from moto.ec2.models.elastic_network_interfaces import NetworkInterfaceBackend
from moto.ec2.models.instances import Instance
from moto.ec2.models.launch_templates import LaunchTemplate
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


def load_images(self: amis.AmiBackend) -> None:
    """A region has the one image that tests start machines from.

    moto makes 1,300 images with their disks for every region that is used, and again at each reset.
    """
    image = next(image for image in amis.AMIS if image["ami_id"] == "ami-1e749f67")
    self.amis[image["ami_id"]] = amis.Ami(self, owner_alias="amazon", **image)


amis.AmiBackend._load_amis = load_images

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

delete_interface = NetworkInterfaceBackend.delete_network_interface


def delete_network_interface(self: NetworkInterfaceBackend, eni_id: str) -> None:
    """The elastic address of a deleted interface is free again."""
    delete_interface(self, eni_id)
    for address in self.addresses:
        if address.eni and address.eni.id == eni_id:
            self.disassociate_address(association_id=address.association_id)


NetworkInterfaceBackend.delete_network_interface = delete_network_interface


start_instances = FakeAutoScalingGroup.replace_autoscaling_group_instances


def start(self: FakeAutoScalingGroup, count: int, tags: dict[str, str]) -> None:
    """An instance of a group has the interface that its launch template names, and no other.

    moto ignores the interfaces of launch templates, and adds a second root disk. AWS starts no instance while another one has the interface.
    """
    version = self.ec2_launch_template.get_version(self.launch_template_version) if self.ec2_launch_template else None
    named = [nic for nic in (version.data.get("NetworkInterfaces", []) if version else []) if "NetworkInterfaceId" in nic]
    backend = self.autoscaling_backend.ec2_backend
    for nic in named:
        found = backend.get_network_interface(nic["NetworkInterfaceId"])
        if found.instance:
            return
        found.outlives = nic.get("DeleteOnTermination") in (False, "false")
    if not named:
        return start_instances(self, count, tags)
    run = backend.run_instances
    own = {"nics": named, "block_device_mappings": version.data.get("BlockDeviceMappings", [])}
    backend.run_instances = lambda *args, **rest: run(*args, **{**rest, **own})
    try:
        start_instances(self, count, tags)
    finally:
        del backend.run_instances


FakeAutoScalingGroup.replace_autoscaling_group_instances = start

make_scaling_group = AutoScalingBackend.create_auto_scaling_group


def create_auto_scaling_group(self: AutoScalingBackend, name: str, **rest: Any) -> FakeAutoScalingGroup:
    """A name that is taken is refused (`AlreadyExists` of the API reference); moto replaces the group."""
    if name in self.autoscaling_groups:
        raise AutoscalingClientError(
            "AlreadyExists",
            f"AutoScalingGroup by this name already exists - A group with the name {name} already exists",
        )
    return make_scaling_group(self, name=name, **rest)


AutoScalingBackend.create_auto_scaling_group = create_auto_scaling_group

add_version = LaunchTemplate.create_version


def create_version(self: LaunchTemplate, data: dict[str, Any], description: str) -> Any:
    """The user data of every version is in base64; moto knows that of the first version only."""
    if isinstance(data.get("UserData"), str):
        data["UserData"] = Base64EncodedString(data["UserData"])
    return add_version(self, data, description)


LaunchTemplate.create_version = create_version

make_state = InstanceState.__init__


def remember_version(self: InstanceState, *args: Any, **rest: Any) -> None:
    """An instance keeps the version of the launch template that it was started with; moto shows that of its group."""
    make_state(self, *args, **rest)
    group = self.auto_scaling_group
    template = getattr(group, "ec2_launch_template", None)
    self.started_with = template and {
        "LaunchTemplateId": template.id,
        "LaunchTemplateName": template.name,
        "Version": str(group.launch_template_version),
    }


InstanceState.__init__ = remember_version
InstanceState.launch_template = property(lambda self: self.started_with)


def terminate_in_group(self: AutoScalingBackend, instance_id: str, should_decrement: bool) -> Any:
    """A group starts the next instance when the one before has ended; moto starts it before."""
    states = (state for group in self.autoscaling_groups.values() for state in group.instance_states)
    instance = next(state.instance for state in states if state.instance.id == instance_id)
    self.ec2_backend.terminate_instances([instance_id])
    self.notify_terminate_instances([instance_id])
    return TerminateInstanceActivity(instance, instance.autoscaling_group.desired_capacity)


AutoScalingBackend.terminate_instance = terminate_in_group

end_instance = Instance.terminate


def terminate(self: Instance) -> Any:
    """An interface that is not deleted with its instance is free again."""
    ended = end_instance(self)
    for nic in self.nics.values():
        if getattr(nic, "outlives", False):
            nic.instance = nic.attachment_id = nic.attach_time = None
            nic.status = "available"
    return ended


Instance.terminate = terminate


def no_permission_by_policy(self: FakeBucket, action: str, resource: str) -> PermissionResult:
    """Bucket policies are kept and not evaluated.

    moto ignores their conditions: a bucket that denies whatever does not come through an endpoint would deny everything.
    The data plane evaluates them where requests arrive, because only there is it known through which endpoint.
    """
    return PermissionResult.NEUTRAL


FakeBucket.get_permission = no_permission_by_policy


# Both are the same for every request, and looked up for each in folders and classes: a fifth of the time.
responses.method_names_from_class = functools.cache(responses.method_names_from_class)
DomainDispatcherApplication.get_backend_for_host = functools.cache(DomainDispatcherApplication.get_backend_for_host)


class Answers:
    """Answers requests. A reset waits for those before it, which would change the account that is empty then."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.running = 0
        self.ended = threading.Condition()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        with self.ended:
            if environ["PATH_INFO"] == "/moto-api/reset":
                if not self.ended.wait_for(lambda: self.running == 0, timeout=10):
                    raise TimeoutError("the requests before this reset do not end")
            self.running += 1
        try:
            return self.app(environ, start_response)
        finally:
            with self.ended:
                self.running -= 1
                self.ended.notify_all()


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


# The proxy in front records every request. The server's own line for each takes a tenth of its time.
logging.getLogger("werkzeug").setLevel(logging.WARNING)
threading.Thread(target=end_with_parent, daemon=True).start()
gc.freeze()
gc.enable()
server = make_server(
    "127.0.0.1",
    0,
    Answers(DomainDispatcherApplication(create_backend_app)),
    threaded=True,
    request_handler=MotoRequestHandler,
)
os.environ["MOTO_PORT"] = str(server.server_port)
print(server.server_port, flush=True)
server.serve_forever()
