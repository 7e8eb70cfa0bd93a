"""What Route 53 refuses and moto accepts, and what moto lacks of it.

Codes are those of botocore's model (route53/2013-04-01); messages are those that users of the service quote.
"""

import copy
import ipaddress
import random
import string
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2 import ec2_backends
from moto.ec2.models import vpcs as moto_vpcs
from moto.route53.exceptions import LastVPCAssociation, NoSuchHostedZone, PublicZoneVPCAssociation, Route53ClientError
from moto.route53.models import FakeZone, Route53Backend, route53_backends
from moto.route53.responses import Route53
from moto.route53.urls import url_paths

# The hosted zone of the names of interface endpoints in us-east-1.
ENDPOINT_ZONE = "Z7HUB22UULQXV"


def refuse(code: str, message: str) -> Route53ClientError:
    return Route53ClientError(code, message)


def plain(name: str) -> str:
    return name.replace("\\052", "*").rstrip(".").lower()


def owner_of(vpc_id: str, region: str) -> str | None:
    """The account of a VPC."""
    for account in list(ec2_backends):
        if vpc_id in ec2_backends[account][region].vpcs:
            return account
    return None


def service_domain(service: str, region: str) -> str:
    """`com.amazonaws.us-east-1.ecr.api` is reached as `api.ecr.us-east-1.amazonaws.com`."""
    labels = service.split(f"{region}.")[-1].split(".")
    return ".".join([*reversed(labels), region, "amazonaws.com"])


def endpoints(account: str, region: str) -> list[Any]:
    found = ec2_backends[account][region].vpc_end_points.values()
    return [one for one in found if (one.vpc_endpoint_type or "").lower() == "interface"]


def zones_everywhere(partition: str) -> list[tuple[str, FakeZone]]:
    return [
        (account, zone)
        for account in list(route53_backends)
        for zone in route53_backends[account][partition].zones.values()
    ]


def check_domain(account: str, partition: str, name: str, vpc_id: str, region: str) -> None:
    """A VPC sees one zone for each domain; that of an endpoint with private DNS counts."""
    taken = any(
        plain(zone.name) == plain(name) and any(vpc["vpc_id"] == vpc_id for vpc in zone.vpcs)
        for _, zone in zones_everywhere(partition)
    ) or any(
        one.vpc_id == vpc_id
        and str(one.private_dns_enabled).lower() == "true"
        and service_domain(one.service_name, region) == plain(name)
        for one in endpoints(account, region)
    )
    if taken:
        raise refuse(
            "ConflictingDomainExists",
            f"The VPC that you chose, {vpc_id} in region {region}, is already associated with another private hosted "
            f"zone that has an overlapping name space, {plain(name)}..",
        )


def check_vpc(account: str, vpc_id: str, region: str) -> None:
    if owner_of(vpc_id, region) != account:
        raise refuse(
            "InvalidVPCId",
            f"The VPC ID {vpc_id} isn't a valid ID in {region}, or the current account is not authorized to access "
            "this VPC.",
        )


create_any_zone = Route53Backend.create_hosted_zone


def create_hosted_zone(self: Route53Backend, name: str, private_zone: bool, **rest: Any) -> FakeZone:
    if any(zone.caller_reference == rest.get("caller_reference") for zone in self.zones.values()):
        raise refuse(
            "HostedZoneAlreadyExists", "A hosted zone has already been created with the specified caller reference."
        )
    if private_zone:
        vpc_id, region = rest.get("vpcid"), rest.get("vpcregion")
        if not vpc_id:
            raise refuse("InvalidInput", "When you're creating a private hosted zone, you must specify a VPC.")
        check_vpc(self.account_id, vpc_id, region)
        check_domain(self.account_id, self.partition, name, vpc_id, region)
    zone = create_any_zone(self, name, private_zone, **rest)
    zone.authorized = []
    # IDs of zones begin with this letter, and the values of moto's SOA record are not those of a record.
    del self.zones[zone.resource_id]
    zone.resource_id = "Z" + zone.resource_id[1:]
    self.zones[zone.resource_id] = zone
    for one in zone.rrsets:
        one.records = [value["Value"] if isinstance(value, dict) else value for value in one.records]
    return zone


def any_zone(self: Route53Backend, zone_id: str) -> tuple[str, FakeZone]:
    """A zone of any account: the account of a VPC associates it."""
    wanted = zone_id.replace("/hostedzone/", "")
    for account, zone in zones_everywhere(self.partition):
        if zone.resource_id == wanted:
            return account, zone
    raise NoSuchHostedZone(zone_id)


def associate(self: Route53Backend, zone_id: str, vpcid: str, vpcregion: str) -> FakeZone:
    account, zone = any_zone(self, zone_id)
    if not zone.private_zone:
        raise PublicZoneVPCAssociation()
    owner = owner_of(vpcid, vpcregion)
    if owner is None:
        check_vpc(self.account_id, vpcid, vpcregion)
    if owner != self.account_id or (account != owner and (vpcid, vpcregion) not in zone.authorized):
        raise refuse(
            "NotAuthorizedException",
            f"The VPC: {vpcid} has not authorized to associate with your hosted zone.",
        )
    check_domain(owner, self.partition, zone.name, vpcid, vpcregion)
    zone.add_vpc(vpcid, vpcregion)
    return zone


def disassociate(self: Route53Backend, zone_id: str, vpcid: str) -> FakeZone:
    _, zone = any_zone(self, zone_id)
    if all(vpc["vpc_id"] != vpcid for vpc in zone.vpcs):
        raise refuse(
            "VPCAssociationNotFound",
            f"The VPC: {vpcid} you provided and the hosted zone {zone.resource_id} are not currently associated.",
        )
    if len(zone.vpcs) == 1:
        raise LastVPCAssociation()
    zone.delete_vpc(vpcid)
    return zone


def zones_of_vpc(self: Route53Backend, vpc_id: str) -> list[dict[str, Any]]:
    return [
        {"HostedZoneId": zone.resource_id, "Name": zone.name, "Owner": {"OwningAccount": account}}
        for account, zone in zones_everywhere(self.partition)
        if zone.private_zone and any(vpc["vpc_id"] == vpc_id for vpc in zone.vpcs)
    ]


def problems(self: Route53Backend, zone: FakeZone, change: dict[str, Any]) -> list[str]:
    """Why Route 53 would refuse one change."""
    wanted = change["ResourceRecordSet"]
    name, kind, action = plain(wanted["Name"]), wanted["Type"], change["Action"]
    apex = plain(zone.name)
    shown = f"[name='{name}.', type='{kind}']"
    if name != apex and not name.endswith(f".{apex}"):
        return [f"RRSet with DNS name {name}. is not permitted in zone {apex}."]
    here = [one for one in zone.rrsets if plain(one.name) == name]
    same = [one for one in here if one.type == kind]
    if action == "DELETE":
        if not same:
            return [f"Tried to delete resource record set {shown} but it was not found"]
        return [] if matches(same[0], wanted) else [
            f"Tried to delete resource record set {shown} but the values provided do not match the current values"
        ]
    told = []
    if action == "CREATE" and same:
        told.append(f"Tried to create resource record set {shown} but it already exists")
    if kind == "CNAME" and name == apex:
        told.append(f"RRSet of type CNAME with DNS name {name}. is not permitted at apex in zone {apex}.")
    elif any((one.type == "CNAME") != (kind == "CNAME") for one in here):
        told.append(
            f"RRSet of type {kind} with DNS name {name}. is not permitted as it conflicts with other records with the "
            f"same DNS name in zone {apex}."
        )
    for record in wanted.get("ResourceRecords") or []:
        told.extend(value_problem(kind, record["Value"]))
    if "AliasTarget" in wanted:
        told.extend(alias_problem(self, kind, wanted["AliasTarget"]))
    return told


def matches(one: Any, wanted: dict[str, Any]) -> bool:
    if one.alias_target:
        target = wanted.get("AliasTarget") or {}
        return plain(one.alias_target["DNSName"]) == plain(target.get("DNSName", ""))
    values = sorted(record["Value"] for record in wanted.get("ResourceRecords") or [])
    return sorted(one.records) == values and str(one.ttl) == str(wanted.get("TTL"))


def value_problem(kind: str, value: str) -> list[str]:
    try:
        if kind == "A":
            ipaddress.IPv4Address(value)
        elif kind == "AAAA":
            ipaddress.IPv6Address(value)
        return []
    except ValueError:
        family = "ARRDATAIllegalIPv4Address" if kind == "A" else "AAAARRDATAIllegalIPv6Address"
        version = "IPv4" if kind == "A" else "IPv6"
        return [
            f"Invalid Resource Record: 'FATAL problem: {family} (Value is not a valid {version} address) encountered "
            f"with '{value}''"
        ]


def alias_problem(self: Route53Backend, kind: str, target: dict[str, Any]) -> list[str]:
    """A target lies in its zone and exists. Zones of other services than VPC endpoints are not known here."""
    name, zone_id = plain(target["DNSName"]), target["HostedZoneId"]
    tried = f"Tried to create an alias that targets {name}., type {kind} in zone {zone_id}, but"
    own = self.zones.get(zone_id)
    if own is not None:
        apex = plain(own.name)
        inside = name == apex or name.endswith(f".{apex}")
        exists = any(plain(one.name) == name and one.type == kind for one in own.rrsets)
    elif zone_id == ENDPOINT_ZONE:
        inside = name.endswith(".vpce.amazonaws.com")
        regions = ec2_backends[self.account_id]
        found = [one for region in list(regions) for one in endpoints(self.account_id, region)]
        exists = any(plain(entry["dns_name"]) == name for one in found for entry in one.dns_entries)
    else:
        inside, exists = True, False
    told = [] if inside else [f"{tried} the alias target name does not lie within the target zone"]
    return told if exists else [*told, f"{tried} that target was not found"]


def change_records(self: Route53Backend, zoneid: str, change_list: list[dict[str, Any]]) -> None:
    """All changes are made, or none."""
    zone = self.get_hosted_zone(zoneid)
    told = [problem for change in change_list for problem in problems(self, zone, change)]
    if told:
        raise refuse("InvalidChangeBatch", f"[{', '.join(told)}]")
    for change in copy.deepcopy(change_list):
        wanted = change["ResourceRecordSet"]
        wanted["Name"] = plain(wanted["Name"]) + "."
        if "ResourceRecords" in wanted:
            wanted["ResourceRecords"] = [record["Value"] for record in wanted["ResourceRecords"]]
        if change["Action"] == "DELETE":
            zone.delete_rrset(wanted)
        else:
            zone.upsert_rrset(wanted)


Route53Backend.create_hosted_zone = create_hosted_zone
Route53Backend.associate_vpc_with_hosted_zone = associate
Route53Backend.disassociate_vpc_from_hosted_zone = disassociate
Route53Backend.list_hosted_zones_by_vpc = zones_of_vpc
Route53Backend.change_resource_record_sets = change_records


def create_authorization(self: Route53) -> ActionResult:
    zone = self.backend.get_hosted_zone(self._get_param("HostedZoneId"))
    vpc = (self._get_param("VPC.VPCId"), self._get_param("VPC.VPCRegion"))
    if vpc not in zone.authorized:
        zone.authorized.append(vpc)
    return ActionResult({"HostedZoneId": zone.resource_id, "VPC": {"VPCId": vpc[0], "VPCRegion": vpc[1]}})


def list_authorizations(self: Route53) -> ActionResult:
    zone = self.backend.get_hosted_zone(self._get_param("HostedZoneId"))
    vpcs = [{"VPCId": vpc, "VPCRegion": region} for vpc, region in zone.authorized]
    return ActionResult({"HostedZoneId": zone.resource_id, "VPCs": vpcs})


def list_by_vpc(self: Route53) -> ActionResult:
    zones = self.backend.list_hosted_zones_by_vpc(self._get_param("VPCId"))
    return ActionResult({"HostedZoneSummaries": zones, "MaxItems": self._get_param("MaxItems") or "100"})


def delete_authorization(self: Route53) -> ActionResult:
    zone = self.backend.get_hosted_zone(self._get_param("HostedZoneId"))
    vpc = (self._get_param("VPC.VPCId"), self._get_param("VPC.VPCRegion"))
    if vpc not in zone.authorized:
        raise refuse(
            "VPCAssociationAuthorizationNotFound",
            "The VPC that you specified is not authorized to be associated with the hosted zone.",
        )
    zone.authorized.remove(vpc)
    return EmptyResult()


for path in ("authorizevpcassociation", "deauthorizevpcassociation"):
    url_paths[r"{0}/(?P<api_version>[\d_-]+)/hostedzone/(?P<zone_id>[^/]+)/" + path + "/?$"] = Route53.dispatch
Route53.create_vpc_association_authorization = create_authorization
Route53.list_vpc_association_authorizations = list_authorizations
Route53.delete_vpc_association_authorization = delete_authorization
Route53.list_hosted_zones_by_vpc = list_by_vpc


def endpoint_names(service_name: str, vpc_endpoint_id: str) -> dict[str, str]:
    """The regional name of an interface endpoint. That of S3 begins with a wildcard."""
    suffix = "".join(random.choices(string.ascii_lowercase + string.digits, k=8))
    region = service_name.split(".")[2]
    domain = service_domain(service_name, region).removesuffix(".amazonaws.com")
    wildcard = "*." if service_name.endswith(f"{region}.s3") else ""
    return {
        "dns_name": f"{wildcard}{vpc_endpoint_id}-{suffix}.{domain}.vpce.amazonaws.com",
        "hosted_zone_id": ENDPOINT_ZONE,
    }


moto_vpcs.create_dns_entries = endpoint_names
