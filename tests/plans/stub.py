"""A provider with the resource types of public clouds and no cloud behind it, for `run.py`.

It has the attributes of hashicorp/aws, google and azurerm that the shapes in this folder use. Terraform itself evaluates
the configuration, plans, and writes the JSON; the provider only marks computed attributes as unknown until the apply.
"""

import concurrent.futures
import hashlib
import json
import os

import grpc
import msgpack

UNKNOWN = msgpack.ExtType(0, b"\x00")


def parse(text):
    """`!cidr_block id* tags:m route[cidr_block gateway_id]` as attributes and blocks.

    `*` is computed, `?` optional and computed, `!` (in front) forces replacement. Types: `b` boolean, `n` number, `ls` and
    `ss` list and set of strings, `m` map of strings, `li` list of interfaces; otherwise a string.
    """
    attributes, blocks, word, depth, start = {}, {}, "", 0, 0
    for at, char in enumerate(text + " "):
        if char == "[":
            if depth == 0:
                start = at
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                blocks[word] = parse(text[start + 1 : at])
                word = ""
        elif depth == 0 and char.isspace():
            if word:
                force = word.startswith("!")
                name, _, kind = word.lstrip("!").partition(":")
                flags = "".join(flag for flag in "*?" if flag in name + kind)
                name, kind = name.strip("*?"), kind.strip("*?") or "s"
                attributes[name] = (kind, flags, force)
            word = ""
        elif depth == 0:
            word += char
    return attributes, blocks


TYPES = {
    "s": "string",
    "b": "bool",
    "n": "number",
    "ls": ["list", "string"],
    "ss": ["set", "string"],
    "m": ["map", "string"],
    "li": ["list", ["object", {"id": "number", "ip_address": "string"}]],
}


class Stub:
    """The schemas of one provider, and what it answers."""

    def __init__(self, wire, name, table):
        self.wire, self.name = wire, name
        self.resources = {kind: parse("id* " + text) for kind, text in table["resources"].items()}
        self.data = {kind: parse(text) for kind, text in table["data"].items()}
        self.answers = table["answers"]
        self.reports = table.get("reports", {})
        self.settings = parse(table["provider"])

    def block(self, tree):
        attributes, blocks = tree
        wire = self.wire
        made = wire.Schema.Block()
        for name, (kind, flags, _) in sorted(attributes.items()):
            made.attributes.append(
                wire.Schema.Attribute(
                    name=name,
                    type=json.dumps(TYPES[kind]).encode(),
                    optional=flags != "*",
                    computed=bool(flags),
                )
            )
        for name, inner in sorted(blocks.items()):
            nesting = wire.Schema.NestedBlock.NestingMode.LIST
            made.block_types.append(
                wire.Schema.NestedBlock(type_name=name, block=self.block(inner), nesting=nesting)
            )
        return made

    def schema(self, tree):
        return self.wire.Schema(version=0, block=self.block(tree))

    def GetProviderSchema(self, request, context):
        answer = self.wire.GetProviderSchema.Response(provider=self.schema(self.settings))
        for kind, tree in self.resources.items():
            answer.resource_schemas[kind].CopyFrom(self.schema(tree))
        for kind, tree in self.data.items():
            answer.data_source_schemas[kind].CopyFrom(self.schema(tree))
        return answer

    def ValidateProviderConfig(self, request, context):
        return self.wire.ValidateProviderConfig.Response()

    def ValidateResourceConfig(self, request, context):
        return self.wire.ValidateResourceConfig.Response()

    def ValidateDataResourceConfig(self, request, context):
        return self.wire.ValidateDataResourceConfig.Response()

    def ConfigureProvider(self, request, context):
        return self.wire.ConfigureProvider.Response()

    def StopProvider(self, request, context):
        return self.wire.StopProvider.Response()

    def UpgradeResourceState(self, request, context):
        state = json.loads(request.raw_state.json)
        return self.wire.UpgradeResourceState.Response(upgraded_state=pack(self.wire, state))

    def ReadResource(self, request, context):
        state = unpack(request.current_state)
        reported = self.reports.get(request.type_name, {}).get(state and state.get("name"), {})
        for name, value in reported.items():
            if isinstance(value, list):
                blocks = state[name] or []
                blocks += [dict() for _ in value[len(blocks) :]]
                value = [block | extra for block, extra in zip(blocks, value, strict=True)]
            state[name] = value
        return self.wire.ReadResource.Response(new_state=pack(self.wire, state))

    def PlanResourceChange(self, request, context):
        prior, wanted = unpack(request.prior_state), unpack(request.proposed_new_state)
        answer = self.wire.PlanResourceChange.Response()
        if wanted is None:
            answer.planned_state.CopyFrom(request.proposed_new_state)
            return answer
        attributes, _ = self.resources[request.type_name]
        config = unpack(request.config)
        if prior is not None:
            changed = [name for name, (_, _, force) in attributes.items() if force and prior[name] != wanted[name]]
            for name in changed:
                answer.requires_replace.append(
                    self.wire.AttributePath(steps=[self.wire.AttributePath.Step(attribute_name=name)])
                )
            prior = None if changed else prior
        if prior is None:
            for name, (_, flags, _) in attributes.items():
                if flags and config[name] is None:
                    wanted[name] = UNKNOWN
        answer.planned_state.CopyFrom(pack(self.wire, wanted))
        return answer

    def ApplyResourceChange(self, request, context):
        planned = unpack(request.planned_state)
        if planned is None:
            return self.wire.ApplyResourceChange.Response(new_state=request.planned_state)
        attributes, _ = self.resources[request.type_name]
        for name, value in planned.items():
            if value == UNKNOWN:
                planned[name] = self.invent(request.type_name, name, attributes[name][0], planned)
        return self.wire.ApplyResourceChange.Response(new_state=pack(self.wire, planned))

    def invent(self, kind, name, wanted, values):
        if wanted != "s":
            return None
        if self.name == "google" and name in ("id", "self_link"):
            path = f"projects/acme/global/{kind}/{values.get('name')}"
            return path if name == "id" else f"https://www.googleapis.com/compute/v1/{path}"
        if name not in ("id", "arn"):
            return None
        # The same in every run, whatever Terraform creates first.
        known = {key: value for key, value in values.items() if value != UNKNOWN and key not in ("id", "arn")}
        seed = json.dumps([kind, known], sort_keys=True)
        digest = hashlib.sha256(seed.encode()).hexdigest()[:12]
        return f"{kind.split('_', 1)[1].replace('_', '-')}-{digest}"

    def ReadDataSource(self, request, context):
        config = unpack(request.config)
        answer = {name: value for name, value in config.items() if value is not None}
        state = dict(config) | self.answers.get(request.type_name, {}) | answer
        return self.wire.ReadDataSource.Response(state=pack(self.wire, state))


def pack(wire, value):
    return wire.DynamicValue(msgpack=msgpack.packb(value))


def unpack(value):
    return msgpack.unpackb(value.msgpack, ext_hook=lambda code, data: UNKNOWN)


def serve(wire, tables, folder):
    """Serves every provider on a socket of its own, and returns what `TF_REATTACH_PROVIDERS` needs."""
    attached, servers = {}, []
    for name, table in tables.items():
        stub = Stub(wire, name, table)
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
        handlers = {}
        for method in wire.DESCRIPTOR.services_by_name["Provider"].methods:
            if hasattr(stub, method.name):
                request = getattr(wire, method.input_type.containing_type.name).Request
                handlers[method.name] = grpc.unary_unary_rpc_method_handler(
                    getattr(stub, method.name),
                    request_deserializer=request.FromString,
                    response_serializer=lambda message: message.SerializeToString(),
                )
        generic = grpc.method_handlers_generic_handler("tfplugin6.Provider", handlers)
        server.add_generic_rpc_handlers((generic,))
        socket = os.path.join(folder, f"{name}.sock")
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        servers.append(server)
        attached[f"registry.terraform.io/hashicorp/{name}"] = {
            "Protocol": "grpc",
            "ProtocolVersion": 6,
            "Pid": os.getpid(),
            "Test": True,
            "Addr": {"Network": "unix", "String": socket},
        }
    return attached, servers
