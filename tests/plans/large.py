"""Prints a large plan as `terraform show -json` does, to measure the memory of `warren check`.

    python3 large.py 200 > plan.json          # 200 MB, as mixed as the plans of a large team
    python3 large.py 200 networks > plan.json  # 200 MB of VPCs and subnets only
    python3 large.py --equal 10000 > plan.json # 10,000 VPCs with the same range
"""

import json
import sys

MIXED = ["aws_iam_role", "aws_s3_bucket", "aws_instance", "aws_cloudwatch_metric_alarm", "aws_security_group_rule"]


def attributes(kind, name, index):
    tags = {"Name": name, "team": "platform", "cost-centre": f"cc-{index % 97}", "managed-by": "terraform"}
    if kind == "aws_vpc":
        return {"cidr_block": f"10.{index % 256}.0.0/16", "enable_dns_support": True, "tags": tags, "tags_all": tags}
    if kind == "aws_subnet":
        vpc, part = divmod(index, 250)
        cidr = f"10.{vpc % 256}.{part}.0/24"
        return {"cidr_block": cidr, "vpc_id": f"vpc-{vpc:08x}", "availability_zone": "eu-west-1a", "tags": tags}
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"] * 8, "Resource": "*"}]}
    return {"name": name, "policy": json.dumps(document), "description": "x" * 200, "tags": tags, "tags_all": tags}


def change(kind, index):
    name = f"one{index}"
    after = attributes(kind, name, index)
    unknown = {key: True for key in ("id", "arn", "owner_id", "tags_all")}
    sensitive = {"tags": {}, "tags_all": {}}
    address = f'module.team["t{index % 50}"].{kind}.{name}'
    body = {"actions": ["create"], "before": None, "after": after, "after_unknown": unknown,
            "before_sensitive": False, "after_sensitive": sensitive}
    return {"address": address, "module_address": f'module.team["t{index % 50}"]', "mode": "managed", "type": kind,
            "name": name, "provider_name": "registry.terraform.io/hashicorp/aws", "change": body}


def write(out, changes):
    """The planned values come before the changes, and hold the same attributes again."""
    out.write('{"format_version":"1.2","terraform_version":"1.11.4","planned_values":{"root_module":{"resources":[')
    for index, one in enumerate(changes()):
        resource = {key: one[key] for key in ("address", "mode", "type", "name", "provider_name")}
        resource["values"] = one["change"]["after"]
        out.write(("," if index else "") + json.dumps(resource, separators=(",", ":")))
    out.write(']}},"resource_changes":[')
    for index, one in enumerate(changes()):
        out.write(("," if index else "") + json.dumps(one, separators=(",", ":")))
    out.write("]}\n")


def main():
    if sys.argv[1] == "--equal":
        def changes():
            for index in range(int(sys.argv[2])):
                one = change("aws_vpc", index)
                one["change"]["after"]["cidr_block"] = "10.0.0.0/16"
                yield one
    else:
        mixed = sys.argv[2:] != ["networks"]

        def kind(index):
            if mixed and index % 50:
                return MIXED[index % len(MIXED)]
            return "aws_vpc" if index % 250 == 0 else "aws_subnet"

        size = sum(len(json.dumps(change(kind(index), index))) for index in range(1000)) / 1000 * 1.6
        count = int(int(sys.argv[1]) * 1e6 / size)

        def changes():
            for index in range(count):
                yield change(kind(index), index)
    write(sys.stdout, changes)


main()
