"""Runs every output of `warren check` and `warren diagram` on every file of a folder, and prints what was attached, found and drawn.

    python3 tests/plans/foreign.py FOLDER [WARREN]

The files may be plans, states or saved plans of anybody. Nothing is stored. A file that `warren` refuses in all outputs is counted
as refused. The exit code is 1 if an output crashes, fails although another one succeeds, or is not what its format requires, or if
a picture shows no range although the file has some.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

ENDINGS = {".json", ".tfstate", ".tfplan", ".plan"}
CHECKS = ["json", "human", "sarif", "gitlab"]
DRAWINGS = ["svg", "png", "html", "markdown", "mermaid", "dot", "space"]
# What each format begins with.
STARTS = {
    "json": b"{", "sarif": b"{", "gitlab": b"[", "svg": b"<svg", "space": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>",
    "markdown": b"#", "mermaid": b"flowchart", "dot": b"graph",
}
RANGE = re.compile(rb"\d/\d|:/\d")


def outputs(warren, file):
    """Exit code, output and errors of every format."""
    for command, formats in (("check", CHECKS), ("diagram", DRAWINGS)):
        for form in formats:
            done = subprocess.run([warren, command, "--format", form, str(file)], capture_output=True)
            yield command, form, done


def faults(done, ranges):
    """What is wrong with the outputs of a file that can be read."""
    for command, form, result in done:
        name = f"{command} --format {form}"
        if result.returncode not in ((0, 1) if command == "check" else (0,)):
            yield f"{name}: exit code {result.returncode}: {result.stderr.decode(errors='replace').strip()[:200]}"
        elif not result.stdout.lower().startswith(STARTS.get(form, b"").lower()) or not result.stdout.strip():
            yield f"{name}: starts with {result.stdout[:40]!r}"
        elif form in ("json", "sarif", "gitlab"):
            json.loads(result.stdout)
        # A PNG image is drawn from the SVG image, and a summary names what changes.
        elif command == "diagram" and form not in ("png", "markdown") and ranges and not RANGE.search(result.stdout):
            yield f"{name}: no range is drawn"


def main():
    folder = pathlib.Path(sys.argv[1])
    warren = sys.argv[2] if len(sys.argv) > 2 else "target/debug/warren"
    total, how, rules = collections.Counter(), collections.Counter(), collections.Counter()
    for file in sorted(file for file in folder.rglob("*") if file.suffix in ENDINGS and file.is_file()):
        done = list(outputs(warren, file))
        if all(result.returncode == 2 for _, _, result in done):
            total["refused"] += 1
            print(f"{file}: refused: {done[0][2].stderr.decode(errors='replace').strip()[:200]}")
            continue
        report = json.loads(done[0][2].stdout) if done[0][2].returncode in (0, 1) else {}
        found = list(faults(done, report.get("ranges")))
        total["faults"] += len(found)
        print("".join(f"{file}: {fault}\n" for fault in found), end="")
        if not report:
            continue
        subnets = report["subnets"]
        total.update(files=1, outputs=len(done), subnets=subnets["total"], attached=subnets["attached"])
        how.update(item["how"] for item in subnets["inferred"])
        rules.update(finding["rule"] for finding in report["findings"])
        print(
            f"{file}: {subnets['attached']} of {subnets['total']} subnets attached,"
            f" {report['errors']} errors, {report['warnings']} warnings"
        )
    print(f"total: {dict(total)}, inferred: {dict(how)}, rules: {dict(rules)}")
    return 1 if total["faults"] else 0


sys.exit(main())
