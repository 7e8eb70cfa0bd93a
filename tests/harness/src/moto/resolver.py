"""What the Route 53 Resolver refuses and moto accepts, and what moto lacks of it."""

import json
from typing import Any

from moto.route53resolver.exceptions import (
    InvalidRequestException,
    ResourceExistsException,
    ResourceNotFoundException,
)
from moto.route53resolver.models import ResolverEndpoint, ResolverRule, ResolverRuleAssociation, Route53ResolverBackend
from moto.route53resolver.responses import Route53ResolverResponse


def check_rule(self: Route53ResolverBackend, kind: str, endpoint_id: str | None, targets: Any) -> None:
    """A rule that forwards has an outbound endpoint and targets; a system rule has neither."""
    if kind != "FORWARD":
        return
    if not targets:
        raise InvalidRequestException("Must provide at least one target IP for FORWARD type resolver rule")
    if not endpoint_id:
        raise InvalidRequestException("Must provide resolver endpoint ID for FORWARD type resolver rule")
    endpoint = self.resolver_endpoints.get(endpoint_id)
    if endpoint is not None and endpoint.direction != "OUTBOUND":
        raise InvalidRequestException(f"Resolver endpoint '{endpoint_id}' is not of direction OUTBOUND")


create_any_rule = Route53ResolverBackend.create_resolver_rule


def create_rule(self: Route53ResolverBackend, **asked: Any) -> ResolverRule:
    check_rule(self, asked["rule_type"], asked["resolver_endpoint_id"], asked["target_ips"])
    rule = create_any_rule(self, **asked)
    rule.domain_name = asked["domain_name"].rstrip(".") + "."
    return rule


def update_rule(self: Route53ResolverResponse) -> str:
    backend = self.route53resolver_backend
    rule = backend.get_resolver_rule(self._get_param("ResolverRuleId"))
    config = self._get_param("Config")
    endpoint, targets = config.get("ResolverEndpointId"), config.get("TargetIps")
    check_rule(backend, rule.rule_type, endpoint or rule.resolver_endpoint_id, targets or rule.target_ips)
    if endpoint and endpoint not in backend.resolver_endpoints:
        raise ResourceNotFoundException(f"Resolver endpoint with ID '{endpoint}' does not exist.")
    rule.name = config.get("Name") or rule.name
    rule.resolver_endpoint_id = endpoint or rule.resolver_endpoint_id
    rule.target_ips = targets or rule.target_ips
    return json.dumps({"ResolverRule": rule.description()})


associate_any_rule = Route53ResolverBackend.associate_resolver_rule


def associate_rule(
    self: Route53ResolverBackend, resolver_rule_id: str, name: str, vpc_id: str
) -> ResolverRuleAssociation:
    wanted = self.resolver_rules.get(resolver_rule_id)
    for one in self.resolver_rule_associations.values():
        rule = self.resolver_rules.get(one.resolver_rule_id)
        if one.vpc_id == vpc_id and wanted and rule and rule.domain_name == wanted.domain_name:
            raise ResourceExistsException(
                "Cannot associate rules with same domain name with same VPC. Conflict with resolver rule "
                f"'{rule.id}'"
            )
    return associate_any_rule(self, resolver_rule_id, name or "", vpc_id)


associate_any_address = ResolverEndpoint.associate_ip_address


def associate_address(self: ResolverEndpoint, value: dict[str, Any]) -> None:
    if not value.get("Ip"):
        subnet = self.ec2_backend.describe_subnets(subnet_ids=[value["SubnetId"]])[0]
        value["Ip"] = subnet.get_available_subnet_ip(self)
    associate_any_address(self, value)


Route53ResolverBackend.create_resolver_rule = create_rule
Route53ResolverBackend.associate_resolver_rule = associate_rule
Route53ResolverResponse.update_resolver_rule = update_rule
ResolverEndpoint.associate_ip_address = associate_address
