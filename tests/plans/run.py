"""Runs Terraform on every folder in `shapes` against the stub. Stores the plans in `corpus` as JSON, and the states before
them in `states`, as Terraform stores them and as it prints them.

    pip install grpcio grpcio-tools msgpack
    python3 tests/plans/run.py [NAME ...]

A shape is a folder with a configuration. A team with history has `before` and `after`: variables of the same configuration
or two configurations. The first one is applied, and the second one is planned.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc

import stub
import tables

HERE = pathlib.Path(__file__).parent
PROTO = HERE.parent.parent / "provider" / "plugin" / "proto"


def wire(folder):
    """The messages of the plugin protocol, generated from the definition that the provider uses."""
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    code = protoc.main(["protoc", f"-I{PROTO}", f"-I{well_known}", f"--python_out={folder}", str(PROTO / "tfplugin6.proto")])
    if code != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, folder)
    import tfplugin6_pb2

    return tfplugin6_pb2


def terraform(folder, environment, *arguments, fine=True):
    command = [os.environ.get("WARREN_TERRAFORM", "terraform"), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if (done.returncode == 0) != fine:
        sys.exit(f"{folder.name}: terraform {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def run(shape, work, environment):
    folder = work / "shapes" / shape.name
    shutil.copytree(shape, folder)
    variables = []
    if (folder / "before.tfvars").exists():
        terraform(folder, environment, "init", "-input=false")
        terraform(folder, environment, "apply", "-input=false", "-auto-approve", "-var-file=before.tfvars")
        variables = ["-var-file=after.tfvars"]
    elif (folder / "before").exists():
        before, folder = folder / "before", folder / "after"
        terraform(before, environment, "init", "-input=false")
        terraform(before, environment, "apply", "-input=false", "-auto-approve")
        shutil.copy(before / "terraform.tfstate", folder)
    terraform(folder, environment, "init", "-input=false")
    fine = shape.name != "errored"
    terraform(folder, environment, "plan", "-input=false", "-out=tf.tfplan", *variables, fine=fine)
    plan = json.loads(terraform(folder, environment, "show", "-json", "tf.tfplan"))
    # What differs between two runs.
    plan["timestamp"] = "2026-01-01T00:00:00Z"
    if "relevant_attributes" in plan:
        plan["relevant_attributes"].sort(key=json.dumps)
    (HERE / "corpus" / f"{shape.name}.json").write_text(json.dumps(plan, separators=(",", ":")) + "\n")
    if (folder / "terraform.tfstate").exists():
        states = HERE / "states"
        states.mkdir(exist_ok=True)
        state = json.loads((folder / "terraform.tfstate").read_text())
        # What differs between two runs.
        state |= {"lineage": "00000000-0000-0000-0000-000000000000", "serial": 1}
        (states / f"{shape.name}.tfstate").write_text(json.dumps(state, indent=2) + "\n")
        (states / f"{shape.name}.json").write_text(terraform(folder, environment, "show", "-json"))
    print(shape.name)


def main():
    (HERE / "corpus").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        work = pathlib.Path(made)
        shutil.copytree(HERE / "modules", work / "modules")
        attached, servers = stub.serve(wire(made), tables.TABLES, made)
        environment = os.environ | {"TF_REATTACH_PROVIDERS": json.dumps(attached), "TF_IN_AUTOMATION": "1"}
        for shape in sorted((HERE / "shapes").iterdir()):
            if not sys.argv[1:] or shape.name in sys.argv[1:]:
                run(shape, work, environment)
        for server in servers:
            server.stop(None)


main()
