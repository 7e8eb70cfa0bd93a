#!/usr/bin/env python3
"""Compares warren-cidr with Python netaddr on the same ranges and prints the ratios.

Its subjects are netaddr, used as a script would, and the fastest Python that we know: heaps of free blocks, and sorted pairs of
integers. Their answers are compared with netaddr's. All measure CPU time, not elapsed time.

    python3 tests/benches/cidr/compare.py [RESULTS.json]

Creates a virtual environment in a temporary folder, installs a pinned netaddr, builds and runs the Rust bench.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

NETADDR = "netaddr==1.3.0"

WORK = r'''
import heapq
import time
from netaddr import IPNetwork, IPSet, cidr_merge

class Sequence:
    def __init__(self, seed): self.x = seed
    def next(self):
        self.x = (self.x * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        return self.x >> 32

def ranges(n):
    s = Sequence(1)
    out = []
    for _ in range(n):
        prefix = 20 + s.next() % 13
        out.append(IPNetwork(f"{address(s.next())}/{prefix}").cidr)
    return out

def address(value):
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))

def median(work, runs):
    times = []
    for _ in range(runs):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return sorted(times)[runs // 2], result

def sweep(nets):
    """Every pair, as well as the library can: sorted, with a stack of open networks."""
    pairs, stack = 0, []
    for net in sorted(nets):
        while stack and stack[-1].last < net.first:
            stack.pop()
        pairs += len(stack)
        stack.append(net)
    return pairs

def sweep_integers(spans):
    """The same number, from sorted pairs of the first address and the negated last: a container precedes what it contains."""
    pairs, stack = 0, []
    for first, last in sorted(spans):
        while stack and stack[-1] > -first:
            stack.pop()
        pairs += len(stack)
        stack.append(last)
    return pairs

def merge_integers(spans):
    """Aggregated ranges, as pairs of the first address and the prefix length."""
    merged, start, end = [], 0, -2
    for first, last in sorted(spans) + [(1 << 33, 0)]:
        if first <= end + 1:
            if -last > end:
                end = -last
            continue
        while start <= end:
            size = 1 << ((end - start + 1).bit_length() - 1)
            if start & (size - 1):
                size = start & -start
            merged.append((start, 33 - size.bit_length()))
            start += size
        start, end = first, -last
    return merged

def pairwise(nets):
    return sum(1 for i, a in enumerate(nets) for b in nets[i + 1:] if a in b or b in a)

def request(n):
    s = Sequence(3)
    return {f"n{i:06}": 26 + s.next() % 5 for i in range(n)}

def plan(request):
    """Named networks, largest first out of the free set of the library; their sizes; what is left."""
    free, placed = IPSet(["10.0.0.0/8"]), {}
    for name, prefix in sorted(request.items(), key=lambda item: item[1]):
        block = min((c for c in free.iter_cidrs() if c.prefixlen <= prefix), key=lambda c: (-c.prefixlen, c.first))
        placed[name] = next(iter(block.subnet(prefix)))
        free.remove(placed[name])
    return placed, {name: net.size for name, net in placed.items()}, list(free.iter_cidrs())

def heaps(request):
    """The same answer without the set of the library: free blocks in a heap for each size."""
    free, placed = {prefix: [] for prefix in range(33)}, {}
    free[8].append(10 << 24)
    for name, prefix in sorted(request.items(), key=lambda item: item[1]):
        at = next(size for size in range(prefix, -1, -1) if free[size])
        first = heapq.heappop(free[at])
        while at < prefix:
            at += 1
            heapq.heappush(free[at], first + (1 << (32 - at)))
        placed[name] = IPNetwork((first, prefix))
    left = [IPNetwork((first, size)) for size, blocks in free.items() for first in blocks]
    return placed, {name: net.size for name, net in placed.items()}, cidr_merge(left)

for n in (1000, 10000, 100000):
    nets = ranges(n)
    runs = 3 if n < 100000 else 1
    seconds, pairs = median(lambda: sweep(nets), runs)
    print("overlaps", n, seconds); print("pairs", n, pairs)
    spans = [(net.first, -net.last) for net in nets]
    seconds, same = median(lambda: sweep_integers(spans), runs)
    assert same == pairs
    print("fastest-overlaps", n, seconds)
    seconds, merged = median(lambda: cidr_merge(nets), runs)
    print("merge", n, seconds)
    seconds, same = median(lambda: merge_integers(spans), runs)
    assert same == [(net.first, net.prefixlen) for net in merged]
    print("fastest-merge", n, seconds)
    if n == 1000:
        print("pairwise", n, median(lambda: pairwise(nets), 1)[0])
for n in (1000, 10000, 100000):
    wanted = request(n)
    seconds, answer = median(lambda: heaps(wanted), 3)
    print("fastest-plan", n, seconds)
    if n < 100000:
        seconds, same = median(lambda: plan(wanted), 1)
        print("plan", n, seconds)
        assert same == answer
'''


# What of ours a figure of theirs stands beside.
ALIKE = {"pairwise": "overlaps"}
FASTEST = "fastest-"


def table(text):
    """Lines `what n figure` as a dict."""
    rows = (line.split() for line in text.splitlines())
    return {(row[0], int(row[1])): float(row[2]) for row in rows if len(row) == 3}


def main():
    root = pathlib.Path(__file__).resolve().parents[3]
    ours = subprocess.run(
        ["cargo", "bench", "-q", "-p", "warren-cidr", "--bench", "curve", "--", "--lines"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([f"{folder}/bin/pip", "install", "-q", NETADDR], check=True)
        theirs = subprocess.run(
            [f"{folder}/bin/python", "-c", WORK], check=True, capture_output=True, text=True
        ).stdout
    ours, theirs = table(ours), table(theirs)
    figures = {"warren-cidr": {}, "Python netaddr": {}, "fastest Python": {}}
    print(f"{'what':<18}{'n':>9}{'warren ms':>12}{'Python ms':>13}{'ratio':>9}")
    for (name, n), seconds in theirs.items():
        what = name.removeprefix(FASTEST)
        if what == "pairs":
            assert ours[what, n] == seconds, f"{n} ranges: {ours[what, n]} pairs here, {seconds} there"
            continue
        mine = ours[ALIKE.get(what, what), n]
        metric = f"{what}, {n:,} ranges, CPU ms"
        figures["warren-cidr"][metric] = [mine * 1e3]
        figures["Python netaddr" if name == what else "fastest Python"][metric] = [seconds * 1e3]
        print(f"{name:<18}{n:>9}{mine * 1e3:>12.3f}{seconds * 1e3:>13.1f}{seconds / mine:>9.0f}")
    if len(sys.argv) > 1:
        versions = f"Python {sys.version.split()[0]}; {NETADDR}"
        results = {"conditions": {"versions": versions}, "figures": figures}
        pathlib.Path(sys.argv[1]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
