#!/usr/bin/env python3
"""Measures `warren check` on a large plan, next to programs that only read its JSON.

    python3 tests/benches/check/compare.py WARREN [RESULTS.json]

Every run is a process of its own, in turns after one run of each that is not counted. The processor time is that of user and
kernel, and the memory is the largest resident set.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

MEGABYTES, RUNS = 60, 5
FOLDER = pathlib.Path(__file__).resolve().parent


def run(command):
    """Elapsed seconds, processor seconds, and megabytes of one run, and its exit code."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    return elapsed, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, child.returncode


# Counts the VPCs with the range of another one, which the plan has on purpose. A process of its own, because the memory of a child
# begins with that of this process.
CONFLICTS = """
import json, sys
changes = json.load(open(sys.argv[1]))["resource_changes"]
ranges = [one["change"]["after"]["cidr_block"] for one in changes if one["type"] == "aws_vpc"]
print(len(ranges) - len(set(ranges)))
"""


def main():
    warren = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        plan, report = pathlib.Path(folder, "plan.json"), pathlib.Path(folder, "report.json")
        with plan.open("w") as out:
            subprocess.run([sys.executable, FOLDER / "plan.py", str(MEGABYTES)], check=True, stdout=out)
        # It found what is there, and nothing else.
        subprocess.run([warren, "check", "--quiet", "--format", "json", "--output", report, plan], check=True)
        counted = subprocess.run([sys.executable, "-c", CONFLICTS, plan], check=True, capture_output=True, text=True)
        found, planted = len(json.loads(report.read_text())["findings"]), int(counted.stdout)
        assert found == planted > 0, f"{found} findings, and {planted} networks with the range of another one"
        subjects = {
            "warren check": [warren, "check", "--quiet", plan],
            "Python, json.load": [sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1]))", plan],
        }
        if shutil.which("jq"):
            subjects["jq empty"] = ["jq", "empty", plan]
        size = plan.stat().st_size / 1e6
        figures = {subject: {} for subject in subjects}
        for turn in range(RUNS + 1):
            for subject, command in subjects.items():
                elapsed, processor, memory, code = run(command)
                assert code == 0, f"{subject} ended with {code}"
                row = {"elapsed, s": elapsed, "CPU s": processor, "peak memory, MB": memory}
                for metric, value in row.items() if turn else ():
                    figures[subject].setdefault(metric, []).append(value)
    print(f"a plan of {size:.1f} MB, medians of {RUNS} runs")
    for subject, metrics in figures.items():
        print(f"{subject:<20}", "  ".join(f"{metric} {sorted(values)[RUNS // 2]:.2f}" for metric, values in metrics.items()))
    if len(sys.argv) > 2:
        versions = [f"Python {sys.version.split()[0]}"]
        if "jq empty" in subjects:
            versions.append(subprocess.run(["jq", "--version"], check=True, capture_output=True, text=True).stdout.strip())
        conditions = {
            "versions": "; ".join(versions),
            "order": "in turns",
            "warm-up": "one run of each, not counted",
            "plan": f"{size:.1f} MB",
        }
        pathlib.Path(sys.argv[2]).write_text(json.dumps({"conditions": conditions, "figures": figures}))


if __name__ == "__main__":
    main()
