"""Writes a large plan as `terraform show -json` does.

    python3 tests/benches/check/plan.py 60 > plan.json  # about 60 MB

The estate has teams with a module each, in AWS and in Google Cloud: networks, instances, roles, functions, alarms, and records
with the attributes that hashicorp/aws and hashicorp/google have. Every twentieth team is new. Most other resources do not change,
so a plan contains each of them four times: in the planned values, before and after the change, and in the prior state. The same
size gives the same bytes. Of every fifty teams, one has the range of the one before it.
"""

import hashlib
import json
import sys

import kinds

AWS = "registry.terraform.io/hashicorp/aws"
GOOGLE = "registry.terraform.io/hashicorp/google"
TIMES = {"create": 3, "update": 5, "replace": 1, "delete": 1}


def actions(address):
    """What happens to a resource: of 100, 90 stay as they are."""
    draw = int(hashlib.sha256(address.encode()).hexdigest(), 16) % 100
    for action, share in TIMES.items():
        draw -= share
        if draw < 0:
            return action
    return "no-op"


def masks(value):
    """What marks parts of a value: empty lists and objects where it has some."""
    if isinstance(value, dict):
        inner = {key: masks(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item is not None}
    if isinstance(value, list):
        return [masks(item) if isinstance(item, (dict, list)) else False for item in value]
    return None


class Resource:
    """One resource: what each part of the plan says about it."""

    def __init__(self, new, module, kind, name, index, values, expressions):
        self.module, self.kind, self.name, self.index = module, kind, name, index
        self.values, self.expressions = values, expressions
        key = "" if index is None else f"[{json.dumps(index)}]"
        self.address = f"{module}.{kind}.{name}{key}"
        # A replaced network would replace everything in it.
        stays = kind.endswith(("_vpc", "_subnet", "_network", "_subnetwork"))
        self.action = "create" if new else "no-op" if stays else actions(self.address)
        self.computed = kinds.COMPUTED + kinds.REFERENCES if new else kinds.COMPUTED
        self.provider = GOOGLE if kind.startswith("google_") else AWS

    def head(self):
        head = {"address": self.address, "mode": "managed", "type": self.kind, "name": self.name}
        if self.index is not None:
            head["index"] = self.index
        return head | {"provider_name": self.provider}

    def state(self, values):
        body = {"schema_version": 1, "values": values, "sensitive_values": masks(self.values)}
        return self.head() | body

    def planned(self):
        return self.state(self.after())

    def prior(self):
        return self.state(self.values) | {"depends_on": [f"{self.module}.{self.kind}.other", "data.aws_region.current"]}

    def unknown(self):
        """The attributes that are known only after apply."""
        if self.action in ("create", "replace"):
            return {key: True for key in self.computed if key in self.values}
        return {}

    def after(self):
        after = {key: value for key, value in self.values.items() if key not in self.unknown()}
        if self.action == "update":
            after["tags" if "tags" in after else "description"] = {"Name": self.name, "owner": "platform"}
        return after

    def change(self):
        head = self.head()
        head = {"address": head.pop("address"), "module_address": self.module} | head
        exists, stays = self.action != "create", self.action != "delete"
        sensitive = masks(self.values)
        unknown = {} if self.action == "no-op" else sensitive | self.unknown()
        words = {"replace": ["delete", "create"]}.get(self.action, [self.action])
        body = {
            "actions": words,
            "before": self.values if exists else None,
            "after": self.after() if stays else None,
            "after_unknown": unknown if stays else {},
            "before_sensitive": sensitive if exists else False,
            "after_sensitive": sensitive if stays else False,
        }
        change = head | {"change": body}
        if self.action == "replace":
            body["replace_paths"] = [["name"]]
            change["action_reason"] = "replace_because_cannot_update"
        return change

    def written(self):
        """Its block in the configuration."""
        block = {"address": f"{self.kind}.{self.name}", "mode": "managed", "type": self.kind, "name": self.name}
        block |= {"provider_config_key": self.provider.rsplit("/", 1)[1], "expressions": self.expressions}
        block["schema_version"] = 1
        if self.index is not None:
            block["for_each_expression"] = {"references": ["var.instances"]}
        return block


def team(number):
    """The module of a team and its resources."""
    module = f"module.team_{number:03}"
    cloud = kinds.google if number % 3 == 2 else kinds.aws
    return module, [Resource(number % 20 == 10, module, *parts) for parts in cloud(number)]


def call(resources):
    """The call of the module, with the blocks in it, each once."""
    blocks = {f"{one.kind}.{one.name}": one.written() for one in resources}
    variables = {name: {"description": f"The {name} of the team's resources"} for name in ("instances", "name", "range")}
    outputs = {"network": {"expression": {"references": ["aws_vpc.main.id", "aws_vpc.main"]}, "description": "The network"}}
    module = {"outputs": outputs, "resources": list(blocks.values()), "variables": variables}
    expressions = {"name": {"constant_value": "team"}, "instances": {"references": ["local.instances"]}}
    return {"source": "./modules/team", "expressions": expressions, "module": module}


def listed(out, items):
    for index, item in enumerate(items):
        out.write("," if index else "")
        out.write(compact(item))


def compact(value):
    """As Go writes it: no spaces, and markup in strings escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def tree(out, teams, view):
    """Resources in modules, as in `planned_values` and in `prior_state`."""
    out.write('{"root_module":{"child_modules":[')
    modules = (
        {"resources": [one for one in map(view, resources) if one is not None], "address": module}
        for module, resources in teams()
    )
    listed(out, modules)
    out.write("]}}")


def write(out, count):
    def teams():
        return map(team, range(count))

    out.write('{"format_version":"1.2","terraform_version":"1.11.4","variables":{"region":{"value":"eu-central-1"}},')
    out.write('"planned_values":')
    tree(out, teams, lambda one: one.planned() if one.action != "delete" else None)
    out.write(',"resource_drift":[')
    drifted = (one for _, resources in teams() for one in resources if one.action == "update")
    listed(out, (one.change() for index, one in enumerate(drifted) if index % 4 == 0))
    out.write('],"resource_changes":[')
    listed(out, (one.change() for _, resources in teams() for one in resources))
    output = {"actions": ["no-op"], "before": "10.0.0.0/8", "after": "10.0.0.0/8", "after_unknown": False}
    output |= {"before_sensitive": False, "after_sensitive": False}
    out.write(f'],"output_changes":{compact({"range": output})},"prior_state":{{"format_version":"1.0",')
    out.write('"terraform_version":"1.11.4","values":')
    tree(out, teams, lambda one: one.prior() if one.action != "create" else None)
    providers = {
        "aws": {"name": "aws", "full_name": AWS, "expressions": {"region": {"references": ["var.region"]}}},
        "google": {"name": "google", "full_name": GOOGLE, "expressions": {"region": {"constant_value": "europe-west3"}}},
    }
    out.write(f'}},"configuration":{{"provider_config":{compact(providers)},"root_module":{{"module_calls":{{')
    for index, (module, resources) in enumerate(teams()):
        out.write(f'{"," if index else ""}"{module.removeprefix("module.")}":{compact(call(resources))}')
    out.write('},"variables":{"region":{"description":"The region"}}}},"relevant_attributes":[')
    listed(out, ({"resource": f"{module}.aws_vpc.main", "attribute": ["id"]} for module, _ in teams()))
    out.write('],"timestamp":"2026-01-01T00:00:00Z","applyable":true,"complete":true,"errored":false}\n')


class Counter:
    """Counts what is written."""

    size = 0

    def write(self, text):
        self.size += len(text.encode())


def main():
    sample = 30
    counter = Counter()
    write(counter, sample)
    write(sys.stdout, max(1, round(float(sys.argv[1]) * 1e6 / counter.size * sample)))


main()
