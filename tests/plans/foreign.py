"""Runs `warren check` and `warren diagram` on every file of a folder, and prints what was attached and found.

    python3 tests/plans/foreign.py FOLDER [WARREN]

The files may be plans, states or saved plans of anybody. Nothing is stored.
"""

import collections
import json
import pathlib
import subprocess
import sys

ENDINGS = {".json", ".tfstate", ".tfplan", ".plan"}


def main():
    folder = pathlib.Path(sys.argv[1])
    warren = sys.argv[2] if len(sys.argv) > 2 else "target/debug/warren"
    total, how, rules = collections.Counter(), collections.Counter(), collections.Counter()
    for file in sorted(file for file in folder.rglob("*") if file.suffix in ENDINGS and file.is_file()):
        done = subprocess.run([warren, "check", "--format", "json", str(file)], capture_output=True, text=True)
        drawn = subprocess.run([warren, "diagram", str(file)], capture_output=True, text=True)
        if done.returncode not in (0, 1) or drawn.returncode != 0:
            word = "crashed" if min(done.returncode, drawn.returncode) < 0 or max(done.returncode, drawn.returncode) > 2 else "refused"
            total[word] += 1
            print(f"{file}: {word}: {(done.stderr or drawn.stderr).strip()[:200]}")
            continue
        report = json.loads(done.stdout)
        subnets = report["subnets"]
        total.update(files=1, subnets=subnets["total"], attached=subnets["attached"])
        how.update(item["how"] for item in subnets["inferred"])
        rules.update(finding["rule"] for finding in report["findings"])
        print(
            f"{file}: {subnets['attached']} of {subnets['total']} subnets attached,"
            f" {report['errors']} errors, {report['warnings']} warnings"
        )
    print(f"total: {dict(total)}, inferred: {dict(how)}, rules: {dict(rules)}")


main()
