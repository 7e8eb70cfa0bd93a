"""The resources of a team in a large plan, with the attributes of their types in hashicorp/aws and hashicorp/google."""

import json

# Attributes that a provider computes.
COMPUTED = ("arn", "creation_timestamp", "etag", "id", "invoke_arn", "owner_id", "private_ip", "self_link", "unique_id")
# Attributes with the ID of another resource of the team.
REFERENCES = ("network", "policy_arn", "role", "route_table_id", "subnet_id", "vpc_id")

ACCOUNT = "123456789012"
REGION = "eu-central-1"
ZONES = ["a", "b", "c"]
PROJECT = "acme-platform"
GOOGLE = "https://www.googleapis.com/compute/v1/projects"


def reference(*names):
    """An expression: each object with the prefixes of its name, as Terraform lists them."""
    found = []
    for name in names:
        steps = name.split(".")
        found += [".".join(steps[:end]) for end in range(len(steps), 1, -1)]
    return {"references": found or ["var.name"]}


def expressions(values, **others):
    """The arguments of a block: half constants, half references."""
    written = {}
    for index, (key, value) in enumerate(values.items()):
        if value is None or key in COMPUTED or key == "tags_all":
            continue
        written[key] = {"constant_value": value} if index % 2 and isinstance(value, (str, bool)) else reference("var.name")
    return written | others


def identity(kind, number, name):
    """The hexadecimal part of an ID."""
    return f"{abs(hash_of(f'{kind}.{number}.{name}')):017x}"


def hash_of(text):
    value = 1469598103934665603
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def policy(*actions):
    """A policy document, as a provider stores it."""
    statements = [
        {
            "Sid": f"Statement{index}",
            "Effect": "Allow",
            "Action": [f"{action}:{verb}" for verb in ("Get*", "List*", "Describe*", "BatchGet*")],
            "Resource": [f"arn:aws:{action}:{REGION}:{ACCOUNT}:prefix/<team>/*"],
            "Condition": {"StringEquals": {"aws:RequestedRegion": REGION, "aws:PrincipalOrgID": "o-a1b2c3d4e5"}},
        }
        for index, action in enumerate(actions)
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def aws(number):
    """A team in AWS: one VPC of three zones, and what runs in it."""
    tags = {"team": f"team-{number:03}", "cost-centre": f"cc-{number % 97}", "managed-by": "terraform", "env": "prod"}
    block = number - 1 if number % 50 == 49 else number
    network = f"10.{block // 16 % 256}.{block % 16 * 16}"
    vpc = "vpc-" + identity("vpc", number, "main")

    def one(kind, name, values, index=None, **others):
        named = {"tags": {"Name": f"{name}-{number}"} | tags, "tags_all": {"Name": f"{name}-{number}"} | tags}
        values = values | named if values.pop("tagged", True) else values
        return kind, name, index, values, expressions(values, **others)

    def arn(service, rest):
        return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"

    yield one("aws_vpc", "main", {
        "arn": arn("ec2", f"vpc/{vpc}"), "assign_generated_ipv6_cidr_block": False, "cidr_block": f"{network}.0/20",
        "default_network_acl_id": "acl-" + identity("acl", number, "d"), "default_route_table_id": "rtb-" + identity("rtb", number, "d"),
        "default_security_group_id": "sg-" + identity("sg", number, "d"), "dhcp_options_id": "dopt-0a1b2c3d4e5f60718",
        "enable_dns_hostnames": True, "enable_dns_support": True, "enable_network_address_usage_metrics": False, "id": vpc,
        "instance_tenancy": "default", "ipv4_ipam_pool_id": None, "ipv4_netmask_length": None, "ipv6_association_id": "",
        "ipv6_cidr_block": "", "ipv6_cidr_block_network_border_group": "", "ipv6_ipam_pool_id": "", "ipv6_netmask_length": 0,
        "main_route_table_id": "rtb-" + identity("rtb", number, "d"), "owner_id": ACCOUNT,
    })
    to_vpc = reference("aws_vpc.main.id")
    for place, (part, zone) in enumerate((part, zone) for part in ("private", "public") for zone in ZONES):
        index = place % 3
        subnet = "subnet-" + identity("subnet", number, place)
        row = int(network.rsplit(".", 1)[1]) + place
        yield one("aws_subnet", part, {
            "arn": arn("ec2", f"subnet/{subnet}"), "assign_ipv6_address_on_creation": False, "availability_zone": REGION + zone,
            "availability_zone_id": f"euc1-az{index + 1}", "cidr_block": f"{network.rsplit('.', 1)[0]}.{row}.0/24",
            "customer_owned_ipv4_pool": "", "enable_dns64": False, "enable_lni_at_device_index": 0,
            "enable_resource_name_dns_a_record_on_launch": False, "enable_resource_name_dns_aaaa_record_on_launch": False,
            "id": subnet, "ipv6_cidr_block": "", "ipv6_cidr_block_association_id": "", "ipv6_native": False,
            "map_customer_owned_ip_on_launch": False, "map_public_ip_on_launch": part == "public", "outpost_arn": "",
            "owner_id": ACCOUNT, "private_dns_hostname_type_on_launch": "ip-name", "timeouts": None, "vpc_id": vpc,
        }, index, vpc_id=to_vpc)
        yield one("aws_route_table_association", part, {
            "tagged": False, "gateway_id": "", "id": "rtbassoc-" + identity("a", number, place),
            "route_table_id": "rtb-" + identity("rtb", number, part), "subnet_id": subnet, "timeouts": None,
        }, index, subnet_id=reference(f"aws_subnet.{part}.id"), route_table_id=reference(f"aws_route_table.{part}.id"))
    for part in ("private", "public"):
        route = {
            "carrier_gateway_id": "", "cidr_block": "0.0.0.0/0", "core_network_arn": "", "destination_prefix_list_id": "",
            "egress_only_gateway_id": "", "gateway_id": "igw-" + identity("igw", number, 0) if part == "public" else "",
            "ipv6_cidr_block": "", "local_gateway_id": "",
            "nat_gateway_id": "" if part == "public" else "nat-" + identity("nat", number, 0), "network_interface_id": "",
            "transit_gateway_id": "", "vpc_endpoint_id": "", "vpc_peering_connection_id": "",
        }
        table = "rtb-" + identity("rtb", number, part)
        yield one("aws_route_table", part, {
            "arn": arn("ec2", f"route-table/{table}"), "id": table, "owner_id": ACCOUNT, "propagating_vgws": [], "route": [route],
            "timeouts": None, "vpc_id": vpc,
        }, vpc_id=to_vpc)
    yield one("aws_internet_gateway", "main", {
        "arn": arn("ec2", "internet-gateway/igw"), "id": "igw-" + identity("igw", number, 0), "owner_id": ACCOUNT, "timeouts": None,
        "vpc_id": vpc,
    }, vpc_id=to_vpc)
    for group in ("web", "app", "db", "cache"):
        ports = [443, 8443, 9090]
        rules = [
            {"cidr_blocks": ["10.0.0.0/8", "172.16.0.0/12"], "description": f"from the {group} clients", "from_port": port,
             "ipv6_cidr_blocks": [], "prefix_list_ids": [], "protocol": "tcp", "security_groups": [], "self": False,
             "to_port": port}
            for port in ports
        ]
        open_rule = rules[0] | {"cidr_blocks": ["0.0.0.0/0"], "from_port": 0, "protocol": "-1", "to_port": 0}
        yield one("aws_security_group", group, {
            "arn": arn("ec2", f"security-group/{group}"), "description": "Managed by Terraform", "egress": [open_rule],
            "id": "sg-" + identity("sg", number, group), "ingress": rules, "name": f"{group}-{number}", "name_prefix": "",
            "owner_id": ACCOUNT, "revoke_rules_on_delete": False, "timeouts": None, "vpc_id": vpc,
        }, vpc_id=to_vpc)
    for index in range(6):
        yield one("aws_instance", "worker", instance(number, index), index, subnet_id=reference("aws_subnet.private"))
    yield from aws_services(number, one, arn)


def instance(number, index):
    device = {
        "delete_on_termination": True, "device_name": "/dev/xvda", "encrypted": True, "iops": 3000,
        "kms_key_id": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0f2d3c4b-1111-2222-3333-444455556666", "tags": {}, "tags_all": {},
        "throughput": 125, "volume_id": "vol-" + identity("vol", number, index), "volume_size": 40, "volume_type": "gp3",
    }
    return {
        "ami": "ami-0faab6bdbac9486fb", "arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/i-{identity('i', number, index)}",
        "associate_public_ip_address": False, "availability_zone": REGION + ZONES[index % 3],
        "capacity_reservation_specification": [{"capacity_reservation_preference": "open", "capacity_reservation_target": []}],
        "cpu_core_count": 2, "cpu_options": [{"amd_sev_snp": "", "core_count": 2, "threads_per_core": 2}], "cpu_threads_per_core": 2,
        "credit_specification": [{"cpu_credits": "unlimited"}], "disable_api_stop": False, "disable_api_termination": False,
        "ebs_block_device": [], "ebs_optimized": True, "enclave_options": [{"enabled": False}], "ephemeral_block_device": [],
        "get_password_data": False, "hibernation": False, "host_id": "", "host_resource_group_arn": None,
        "iam_instance_profile": f"worker-{number}", "id": "i-" + identity("i", number, index),
        "instance_initiated_shutdown_behavior": "stop", "instance_lifecycle": "", "instance_market_options": [],
        "instance_state": "running", "instance_type": "m7i.large", "ipv6_address_count": 0, "ipv6_addresses": [],
        "key_name": "", "launch_template": [], "maintenance_options": [{"auto_recovery": "default"}],
        "metadata_options": [{"http_endpoint": "enabled", "http_protocol_ipv6": "disabled", "http_put_response_hop_limit": 2,
                              "http_tokens": "required", "instance_metadata_tags": "disabled"}],
        "monitoring": True, "network_interface": [], "outpost_arn": "", "password_data": "", "placement_group": "",
        "placement_partition_number": 0, "primary_network_interface_id": "eni-" + identity("eni", number, index),
        "private_dns": f"ip-10-0-0-{index}.{REGION}.compute.internal",
        "private_dns_name_options": [{"enable_resource_name_dns_a_record": False, "enable_resource_name_dns_aaaa_record": False,
                                      "hostname_type": "ip-name"}],
        "private_ip": f"10.0.0.{index}", "public_dns": "", "public_ip": "", "root_block_device": [device],
        "secondary_private_ips": [], "security_groups": [], "source_dest_check": True, "spot_instance_request_id": "",
        "subnet_id": "subnet-" + identity("subnet", number, index % 3), "tenancy": "default", "timeouts": None,
        "user_data": "f4d5b0a6c2e1d3f4a5b6c7d8e9f0a1b2c3d4e5f6", "user_data_base64": None, "user_data_replace_on_change": False,
        "volume_tags": None, "vpc_security_group_ids": ["sg-" + identity("sg", number, "app")],
    }


def aws_services(number, one, arn):
    """What a team has outside of its network: most of the resources of most plans."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
                        "Principal": {"Service": ["ec2.amazonaws.com", "lambda.amazonaws.com"]}}]})
    for index in range(8):
        name = f"service-{number}-{index}"
        yield one("aws_iam_role", "service", {
            "arn": f"arn:aws:iam::{ACCOUNT}:role/{name}", "assume_role_policy": trust, "create_date": "2025-03-01T12:00:00Z",
            "description": "The role of a service", "force_detach_policies": False, "id": name, "inline_policy": [],
            "managed_policy_arns": [f"arn:aws:iam::{ACCOUNT}:policy/{name}"], "max_session_duration": 3600, "name": name,
            "name_prefix": "", "path": "/", "permissions_boundary": "", "unique_id": "AROA" + identity("r", number, index).upper(),
        }, index)
        yield one("aws_iam_policy", "service", {
            "arn": f"arn:aws:iam::{ACCOUNT}:policy/{name}", "attachment_count": 1, "description": "What a service may do",
            "id": f"arn:aws:iam::{ACCOUNT}:policy/{name}", "name": name, "name_prefix": "", "path": "/",
            "policy": policy("s3", "sqs", "dynamodb", "kms"), "policy_id": "ANPA" + identity("p", number, index).upper(),
        }, index, policy=reference("data.aws_iam_policy_document.service.json"))
        yield one("aws_iam_role_policy_attachment", "service", {
            "tagged": False, "id": f"{name}-20250301", "policy_arn": f"arn:aws:iam::{ACCOUNT}:policy/{name}", "role": name,
        }, index, role=reference("aws_iam_role.service.name"), policy_arn=reference("aws_iam_policy.service.arn"))
        yield one("aws_cloudwatch_log_group", "service", {
            "arn": arn("logs", f"log-group:/aws/lambda/{name}"), "id": f"/aws/lambda/{name}", "kms_key_id": "", "log_group_class": "STANDARD",
            "name": f"/aws/lambda/{name}", "name_prefix": "", "retention_in_days": 30, "skip_destroy": False,
        }, index)
        yield one("aws_lambda_function", "service", {
            "architectures": ["arm64"], "arn": arn("lambda", f"function:{name}"), "code_sha256": "q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c=",
            "code_signing_config_arn": "", "dead_letter_config": [], "description": "Handles the messages of a queue",
            "environment": [{"variables": {f"SETTING_{key}": f"value of {key} for {name}" for key in range(8)}}],
            "ephemeral_storage": [{"size": 512}], "file_system_config": [], "filename": None, "function_name": name,
            "handler": "bootstrap", "id": name, "image_config": [], "image_uri": "",
            "invoke_arn": f"arn:aws:apigateway:{REGION}:lambda:path/2015-03-31/functions/{arn('lambda', 'function:' + name)}/invocations",
            "kms_key_arn": "", "last_modified": "2026-01-01T00:00:00.000+0000", "layers": [], "logging_config": [
                {"application_log_level": "", "log_format": "Text", "log_group": f"/aws/lambda/{name}", "system_log_level": ""}],
            "memory_size": 512, "package_type": "Zip", "publish": False, "qualified_arn": arn("lambda", f"function:{name}:1"),
            "replace_security_groups_on_destroy": None, "reserved_concurrent_executions": -1,
            "role": f"arn:aws:iam::{ACCOUNT}:role/{name}", "runtime": "provided.al2023", "s3_bucket": "acme-artifacts",
            "s3_key": f"{name}.zip", "s3_object_version": None, "skip_destroy": False, "snap_start": [],
            "source_code_hash": "q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c=", "source_code_size": 4194304, "timeout": 60, "timeouts": None,
            "tracing_config": [{"mode": "Active"}], "version": "$LATEST",
            "vpc_config": [{"ipv6_allowed_for_dual_stack": False, "security_group_ids": ["sg-" + identity("sg", number, "app")],
                            "subnet_ids": ["subnet-" + identity("subnet", number, place) for place in range(3)],
                            "vpc_id": "vpc-" + identity("vpc", number, "main")}],
        }, index, role=reference("aws_iam_role.service.arn"))
        for metric in ("Errors", "Throttles", "Duration"):
            yield one("aws_cloudwatch_metric_alarm", metric.lower(), {
                "actions_enabled": True, "alarm_actions": [arn("sns", "alerts")], "alarm_description": f"{metric} of {name} > the limit",
                "alarm_name": f"{name}-{metric}", "arn": arn("cloudwatch", f"alarm:{name}-{metric}"),
                "comparison_operator": "GreaterThanThreshold", "datapoints_to_alarm": 2, "dimensions": {"FunctionName": name},
                "evaluate_low_sample_count_percentiles": "", "evaluation_periods": 3, "extended_statistic": "",
                "id": f"{name}-{metric}", "insufficient_data_actions": [], "metric_name": metric, "metric_query": [],
                "namespace": "AWS/Lambda", "ok_actions": [arn("sns", "alerts")], "period": 60, "statistic": "Sum", "threshold": 1,
                "threshold_metric_id": "", "treat_missing_data": "notBreaching", "unit": "",
            }, index)
        yield one("aws_sqs_queue", "service", {
            "arn": arn("sqs", name), "content_based_deduplication": False, "deduplication_scope": "", "delay_seconds": 0, "fifo_queue": False,
            "fifo_throughput_limit": "", "id": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}",
            "kms_data_key_reuse_period_seconds": 300, "kms_master_key_id": "", "max_message_size": 262144,
            "message_retention_seconds": 345600, "name": name, "name_prefix": "", "policy": policy("sqs"),
            "receive_wait_time_seconds": 0, "redrive_allow_policy": "",
            "redrive_policy": json.dumps({"deadLetterTargetArn": arn("sqs", name + "-dead"), "maxReceiveCount": 5}),
            "sqs_managed_sse_enabled": True, "url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}", "visibility_timeout_seconds": 360,
        }, index)
    for index in range(4):
        name = f"acme-{number}-{index}"
        grants = [{"id": identity("g", number, index) * 3, "permissions": ["FULL_CONTROL"], "type": "CanonicalUser", "uri": ""}]
        rule = {"apply_server_side_encryption_by_default": [{"kms_master_key_id": "", "sse_algorithm": "AES256"}], "bucket_key_enabled": False}
        yield one("aws_s3_bucket", "data", {
            "acceleration_status": "", "acl": None, "arn": f"arn:aws:s3:::{name}", "bucket": name, "bucket_domain_name": f"{name}.s3.amazonaws.com",
            "bucket_prefix": "", "bucket_regional_domain_name": f"{name}.s3.{REGION}.amazonaws.com", "cors_rule": [], "force_destroy": False,
            "grant": grants, "hosted_zone_id": "Z21DNDUVLTQW6Q", "id": name, "lifecycle_rule": [], "logging": [],
            "object_lock_configuration": [], "object_lock_enabled": False, "policy": policy("s3"), "region": REGION,
            "replication_configuration": [], "request_payer": "BucketOwner", "server_side_encryption_configuration": [{"rule": [rule]}],
            "timeouts": None, "versioning": [{"enabled": True, "mfa_delete": False}], "website": [], "website_domain": None,
            "website_endpoint": None,
        }, index)
        yield one("aws_route53_record", "service", {
            "tagged": False, "alias": [{"evaluate_target_health": True, "name": f"dualstack.lb-{name}.{REGION}.elb.amazonaws.com",
                                        "zone_id": "Z215JYRZR1TBD5"}],
            "allow_overwrite": None, "cidr_routing_policy": [], "failover_routing_policy": [], "fqdn": f"{name}.acme.internal",
            "geolocation_routing_policy": [], "geoproximity_routing_policy": [], "health_check_id": "",
            "id": f"Z0123456789ABCDEFGHIJ_{name}.acme.internal_A", "latency_routing_policy": [], "multivalue_answer_routing_policy": False,
            "name": f"{name}.acme.internal", "records": [], "set_identifier": "", "ttl": 0, "type": "A", "weighted_routing_policy": [],
            "zone_id": "Z0123456789ABCDEFGHIJ",
        }, index)


def google(number):
    """A team in Google Cloud: a network with two subnetworks, and what runs in it."""
    labels = {"team": f"team-{number:03}", "managed-by": "terraform", "goog-terraform-provisioned": "true"}
    name = f"team-{number:03}"
    base = f"10.{number // 16 % 256}.{number % 16 * 16}"
    link = f"{GOOGLE}/{PROJECT}/global/networks/{name}"
    region = "europe-west3"

    def one(kind, label, values, index=None, **others):
        if values.pop("labelled", True):
            values = values | {"effective_labels": labels, "labels": {"team": name}, "terraform_labels": labels}
        return kind, label, index, values | {"project": PROJECT, "timeouts": None}, expressions(values, **others)

    yield one("google_compute_network", "main", {
        "labelled": False, "auto_create_subnetworks": False, "bgp_always_compare_med": False, "bgp_best_path_selection_mode": "LEGACY",
        "bgp_inter_region_cost": "", "delete_bgp_always_compare_med": False, "delete_default_routes_on_create": False, "description": "",
        "enable_ula_internal_ipv6": False, "gateway_ipv4": "", "id": f"projects/{PROJECT}/global/networks/{name}",
        "internal_ipv6_range": "", "mtu": 1460, "name": name, "network_firewall_policy_enforcement_order": "AFTER_CLASSIC_FIREWALL",
        "network_id": str(hash_of(name)), "network_profile": "", "numeric_id": str(hash_of(name)), "params": [],
        "routing_mode": "GLOBAL", "self_link": link,
    })
    for index in range(2):
        row = int(base.rsplit(".", 1)[1]) + index * 4
        prefix = base.rsplit(".", 1)[0]
        subnet = f"projects/{PROJECT}/regions/{region}/subnetworks/{name}-{index}"
        pods = {"ip_cidr_range": f"{prefix}.{row + 2}.0/23", "range_name": "pods", "reserved_internal_range": ""}
        yield one("google_compute_subnetwork", "main", {
            "labelled": False, "creation_timestamp": "2025-03-01T04:00:00.000-08:00", "description": "", "enable_flow_logs": None,
            "external_ipv6_prefix": "", "fingerprint": None, "gateway_address": f"{prefix}.{row}.1", "id": subnet,
            "internal_ipv6_prefix": "", "ip_cidr_range": f"{prefix}.{row}.0/23", "ip_collection": "", "ipv6_access_type": "",
            "ipv6_cidr_range": "", "ipv6_gce_endpoint": "", "log_config": [
                {"aggregation_interval": "INTERVAL_5_SEC", "filter_expr": "true", "flow_sampling": 0.5, "metadata": "INCLUDE_ALL_METADATA",
                 "metadata_fields": []}],
            "name": f"{name}-{index}", "network": link, "params": [], "private_ip_google_access": True,
            "private_ipv6_google_access": "DISABLE_GOOGLE_ACCESS", "purpose": "PRIVATE", "region": region, "reserved_internal_range": "",
            "role": "", "secondary_ip_range": [pods], "self_link": f"{GOOGLE}/{PROJECT}/regions/{region}/subnetworks/{name}-{index}",
            "send_secondary_ip_range_if_empty": None, "stack_type": "IPV4_ONLY", "state": "", "subnetwork_id": 1,
        }, index, network=reference("google_compute_network.main.id"))
    for index in range(6):
        yield one("google_compute_firewall", "allow", {
            "labelled": False, "allow": [{"ports": ["443", "8080-8090"], "protocol": "tcp"}], "creation_timestamp": "2025-03-01T04:00:00.000-08:00",
            "deny": [], "description": "Admits the clients of a service", "destination_ranges": [], "direction": "INGRESS", "disabled": False,
            "enable_logging": None, "id": f"projects/{PROJECT}/global/firewalls/{name}-{index}",
            "log_config": [{"metadata": "INCLUDE_ALL_METADATA"}], "name": f"{name}-{index}", "network": link, "params": [], "priority": 1000,
            "self_link": f"{GOOGLE}/{PROJECT}/global/firewalls/{name}-{index}", "source_ranges": ["10.0.0.0/8"],
            "source_service_accounts": [], "source_tags": [], "target_service_accounts": [], "target_tags": [f"service-{index}"],
        }, index, network=reference("google_compute_network.main.id"))
    for index in range(6):
        yield one("google_compute_instance", "worker", google_instance(number, name, region, index), index,
                  network_interface=[{"subnetwork": reference("google_compute_subnetwork.main")}])
    for index in range(24):
        account = f"service-{index}@{PROJECT}.iam.gserviceaccount.com"
        yield one("google_service_account", "service", {
            "labelled": False, "account_id": f"service-{index}", "create_ignore_already_exists": None, "description": "The account of a service",
            "disabled": False, "display_name": f"Service {index} of {name}", "email": account,
            "id": f"projects/{PROJECT}/serviceAccounts/{account}", "member": f"serviceAccount:{account}",
            "name": f"projects/{PROJECT}/serviceAccounts/{account}", "unique_id": str(hash_of(account)),
        }, index)
        for role in ("logging.logWriter", "monitoring.metricWriter", "pubsub.subscriber"):
            yield one("google_project_iam_member", role.split(".")[0], {
                "labelled": False, "condition": [], "etag": "BwYyZ5cZ0rQ=", "id": f"{PROJECT}/roles/{role}/serviceAccount:{account}",
                "member": f"serviceAccount:{account}", "role": f"roles/{role}",
            }, index, member=reference("google_service_account.service.member"))
        yield one("google_pubsub_topic", "service", {
            "id": f"projects/{PROJECT}/topics/{name}-{index}", "ingestion_data_source_settings": [], "kms_key_name": "",
            "message_retention_duration": "", "message_storage_policy": [{"allowed_persistence_regions": [region], "enforce_in_transit": False}],
            "message_transforms": [], "name": f"{name}-{index}", "schema_settings": [],
        }, index)
        yield one("google_cloud_run_v2_service", "service", run_service(name, region, index, account), index)


def google_instance(number, name, region, index):
    own = f"{GOOGLE}/{PROJECT}/zones/{region}-{ZONES[index % 3]}/instances/{name}-{index}"
    image = f"{GOOGLE}/debian-cloud/global/images/debian-12-bookworm-v20250910"
    disk = {
        "architecture": "X86_64", "enable_confidential_compute": False, "guest_os_features": ["UEFI_COMPATIBLE", "VIRTIO_SCSI_MULTIQUEUE"],
        "image": image, "labels": {}, "provisioned_iops": 0, "provisioned_throughput": 0, "resource_manager_tags": {},
        "resource_policies": [], "size": 20, "snapshot": "", "source_image_encryption_key": [], "source_snapshot_encryption_key": [],
        "storage_pool": "", "type": "pd-balanced",
    }
    interface = {
        "access_config": [], "alias_ip_range": [], "internal_ipv6_prefix_length": 0, "ipv6_access_config": [], "ipv6_access_type": "",
        "ipv6_address": "", "name": "nic0", "network": f"{GOOGLE}/{PROJECT}/global/networks/{name}", "network_attachment": "",
        "network_ip": f"10.1.0.{index}", "nic_type": "", "queue_count": 0, "stack_type": "IPV4_ONLY",
        "subnetwork": f"{GOOGLE}/{PROJECT}/regions/{region}/subnetworks/{name}-{index % 2}", "subnetwork_project": PROJECT,
    }
    scheduling = {
        "automatic_restart": True, "availability_domain": 0, "instance_termination_action": "", "local_ssd_recovery_timeout": [],
        "max_run_duration": [], "min_node_cpus": 0, "node_affinities": [], "on_host_maintenance": "MIGRATE",
        "on_instance_stop_action": [], "preemptible": False, "provisioning_model": "STANDARD", "termination_time": "",
    }
    return {
        "advanced_machine_features": [], "allow_stopping_for_update": True, "attached_disk": [],
        "boot_disk": [{"auto_delete": True, "device_name": "boot", "disk_encryption_key_raw": "", "disk_encryption_key_sha256": "",
                       "guest_os_features": [], "initialize_params": [disk], "interface": "", "kms_key_self_link": "", "mode": "READ_WRITE",
                       "source": f"{own}-disk"}],
        "can_ip_forward": False, "confidential_instance_config": [], "cpu_platform": "Intel Emerald Rapids",
        "creation_timestamp": "2025-03-01T04:00:00.000-08:00", "current_status": "RUNNING", "deletion_protection": False, "description": "",
        "desired_status": None, "enable_display": False, "guest_accelerator": [], "hostname": "",
        "id": f"projects/{PROJECT}/zones/{region}-a/instances/{name}-{index}", "instance_id": str(hash_of(own)), "key_revocation_action_type": "",
        "label_fingerprint": "vezUS-42LLM=", "machine_type": "n2-standard-4", "metadata": {"enable-oslogin": "TRUE"},
        "metadata_fingerprint": "8GqJ3cEF5rA=", "metadata_startup_script": "#!/bin/sh\nset -e\ncurl --fail https://example.com/start > /tmp/start\n" * 4,
        "min_cpu_platform": "", "name": f"{name}-{index}", "network_interface": [interface], "network_performance_config": [], "params": [],
        "reservation_affinity": [], "resource_policies": [], "scheduling": [scheduling], "scratch_disk": [], "self_link": own,
        "service_account": [{"email": f"service-{index}@{PROJECT}.iam.gserviceaccount.com",
                             "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}],
        "shielded_instance_config": [{"enable_integrity_monitoring": True, "enable_secure_boot": True, "enable_vtpm": True}],
        "tags": [f"service-{number % 6}"], "tags_fingerprint": "42WmSpB8rSM=", "zone": f"{region}-{ZONES[index % 3]}",
    }


def run_service(name, region, index, account):
    probe = {"failure_threshold": 3, "grpc": [], "http_get": [{"http_headers": [], "path": "/healthz", "port": 8080}],
             "initial_delay_seconds": 0, "period_seconds": 10, "tcp_socket": [], "timeout_seconds": 1}
    container = {
        "args": [], "base_image_uri": "", "build_info": [], "command": [], "depends_on": [],
        "env": [{"name": f"SETTING_{key}", "value": f"value of {key}", "value_source": []} for key in range(8)],
        "image": f"{region}-docker.pkg.dev/{PROJECT}/services/{name}-{index}@sha256:{'0123456789abcdef' * 4}", "liveness_probe": [probe],
        "name": "", "ports": [{"container_port": 8080, "name": "http1"}],
        "resources": [{"cpu_idle": True, "limits": {"cpu": "1000m", "memory": "512Mi"}, "startup_cpu_boost": False}],
        "startup_probe": [probe], "volume_mounts": [], "working_dir": "",
    }
    template = {
        "annotations": {}, "containers": [container], "encryption_key": "", "execution_environment": "",
        "gpu_zonal_redundancy_disabled": False, "labels": {}, "max_instance_request_concurrency": 80, "node_selector": [], "revision": "",
        "scaling": [{"max_instance_count": 10, "min_instance_count": 1}], "service_account": account, "session_affinity": False,
        "timeout": "300s", "volumes": [],
        "vpc_access": [{"connector": "", "egress": "PRIVATE_RANGES_ONLY", "network_interfaces": [
            {"network": name, "subnetwork": f"{name}-0", "tags": []}]}],
    }
    condition = {"execution_reason": "", "last_transition_time": "2026-01-01T00:00:00.123456Z", "message": "", "reason": "",
                 "revision_reason": "", "severity": "", "state": "CONDITION_SUCCEEDED", "type": "RoutesReady"}
    own = f"projects/{PROJECT}/locations/{region}/services/{name}-{index}"
    return {
        "annotations": {}, "binary_authorization": [], "build_config": [], "client": "terraform", "client_version": "",
        "conditions": [condition, condition | {"type": "ConfigurationsReady"}], "create_time": "2025-03-01T12:00:00.123456Z",
        "creator": f"deploy@{PROJECT}.iam.gserviceaccount.com", "custom_audiences": [], "default_uri_disabled": False,
        "delete_time": "", "deletion_protection": True, "description": "A service", "effective_annotations": {}, "etag": "\"CKi0obwGEPi\"",
        "expire_time": "", "generation": "12", "iap_enabled": False, "id": own, "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
        "invoker_iam_disabled": False, "last_modifier": f"deploy@{PROJECT}.iam.gserviceaccount.com",
        "latest_created_revision": f"{own}/revisions/{name}-00012", "latest_ready_revision": f"{own}/revisions/{name}-00012",
        "launch_stage": "GA", "location": region, "multi_region_settings": [], "name": f"{name}-{index}", "observed_generation": "12",
        "reconciling": False, "scaling": [], "template": [template], "terminal_condition": [condition | {"type": "Ready"}],
        "traffic": [{"percent": 100, "revision": "", "tag": "", "type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"}],
        "traffic_statuses": [], "uid": "0f2d3c4b-1111-2222-3333-444455556666", "update_time": "2026-01-01T00:00:00.123456Z",
        "uri": f"https://{name}-{index}.a.run.app", "urls": [f"https://{name}-{index}.a.run.app"],
    }
