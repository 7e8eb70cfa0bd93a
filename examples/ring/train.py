"""Trains a small network on several pods. Each pod has a part of the samples, and the pods sum their gradients.

Each event is a line of JSON on standard output.
"""

import argparse
import hashlib
import json
import math
import os
import random
import statistics
import sys
import time
from array import array

import allreduce

INPUTS, HIDDEN, SAMPLES, RATE = 6, 12, 96, 0.05
SIZE = INPUTS * HIDDEN + 2 * HIDDEN + 1


def samples(rank, world):
    """The samples of one pod: the same for the same rank and number of pods."""
    numbers = random.Random(7)
    everything = []
    for _ in range(SAMPLES):
        inputs = [numbers.uniform(-1, 1) for _ in range(INPUTS)]
        everything.append((inputs, math.sin(inputs[0] + 2 * inputs[1]) - inputs[2] * inputs[3]))
    return everything[rank::world]


def weights():
    """The weights before the first step, the same in all pods."""
    numbers = random.Random(11)
    return array("d", (numbers.gauss(0, 0.4) for _ in range(SIZE)))


def gradients(w, data):
    """The gradients of the squared error over some samples, and as the last value the error itself."""
    total = array("d", bytes(8 * (SIZE + 1)))
    out, bias = INPUTS * HIDDEN, INPUTS * HIDDEN + HIDDEN
    for inputs, wanted in data:
        hidden = []
        for unit in range(HIDDEN):
            value = w[bias + unit]
            for index in range(INPUTS):
                value += w[unit * INPUTS + index] * inputs[index]
            hidden.append(math.tanh(value))
        error = w[SIZE - 1] - wanted
        for unit in range(HIDDEN):
            error += w[out + unit] * hidden[unit]
        for unit in range(HIDDEN):
            total[out + unit] += error * hidden[unit]
            slope = error * w[out + unit] * (1 - hidden[unit] * hidden[unit])
            total[bias + unit] += slope
            for index in range(INPUTS):
                total[unit * INPUTS + index] += slope * inputs[index]
        total[SIZE - 1] += error
        total[SIZE] += error * error / 2
    return total


def update(w, total):
    """One step of gradient descent. Returns the mean error."""
    for index in range(SIZE):
        w[index] -= RATE * total[index] / SAMPLES
    return total[SIZE] / SAMPLES


def tell(event, **values):
    # One write, as several pods may share a terminal.
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def digest(values):
    return hashlib.sha256(values.tobytes()).hexdigest()


def save(values, path):
    """Writes the weights to a file, as 64-bit floating-point numbers of this machine."""
    if path:
        with open(path, "wb") as file:
            values.tofile(file)


def alone(steps, world, path):
    """All pods' work in one process, with sums in the order of the ring."""
    w = weights()
    parts = [samples(rank, world) for rank in range(world)]
    for step in range(steps):
        loss = update(w, allreduce.sum_in_order([gradients(w, part) for part in parts]))
        tell("step", step=step, loss=loss)
    save(w, path)
    tell("done", weights=digest(w))


def together(group, rank, world, steps, path):
    """The work of one pod."""
    w, data, times = weights(), samples(rank, world), []
    for step in range(steps):
        total = gradients(w, data)
        begun = time.monotonic()
        group.allreduce(total)
        times.append(time.monotonic() - begun)
        tell("step", step=step, loss=update(w, total))
    save(w, path)
    tell(
        "done",
        rank=rank,
        backend=group.backend,
        weights=digest(w),
        allreduce_seconds=statistics.median(times),
        allreduce_bytes=8 * len(total),
    )


def measure(group, size, rounds):
    """Measures the all-reduce of a large array."""
    values = array("d", bytes(8 * (size // 8)))
    times = []
    for _ in range(rounds):
        begun = time.monotonic()
        group.allreduce(values)
        times.append(time.monotonic() - begun)
    tell("measured", bytes=8 * len(values), seconds=statistics.median(times))


def own_rank(peers):
    """The place of this pod among all, by the name under which it joined the tunnel."""
    host = os.environ.get("WARREN_HOST_NAME", "")
    ranks = [rank for rank, peer in enumerate(peers) if peer.split(".")[0] == host]
    if not ranks:
        sys.exit(f"this pod is {host!r} (WARREN_HOST_NAME), which is none of {', '.join(peers)}")
    return ranks[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peers", default=os.environ.get("RING_PEERS"), help="names of all pods, separated by commas [RING_PEERS]")
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--save", metavar="FILE", help="write the weights to this file")
    parser.add_argument("--measure", type=int, metavar="BYTES", help="then measure all-reduces of this size")
    parser.add_argument("--rounds", type=int, default=3, help="number of measured all-reduces")
    parser.add_argument("--backend", choices=["auto", "gloo", "ring"], default="auto")
    parser.add_argument("--timeout", type=float, default=allreduce.TIMEOUT, help="seconds until a silent pod ends the others")
    parser.add_argument("--proxy", action="store_true", help="reach other pods through the proxy in HTTPS_PROXY")
    parser.add_argument("--alone", type=int, metavar="PODS", help="do the work of this number of pods in one process")
    arguments = parser.parse_args()
    if arguments.alone:
        alone(arguments.steps, arguments.alone, arguments.save)
        return
    if not arguments.peers:
        parser.error("set --peers or RING_PEERS")
    peers = arguments.peers.split(",")
    rank = own_rank(peers)
    proxy = os.environ["HTTPS_PROXY"] if arguments.proxy else None
    group = allreduce.connect(peers, rank, arguments.port, arguments.backend, proxy, arguments.timeout)
    try:
        together(group, rank, len(peers), arguments.steps, arguments.save)
        if arguments.measure:
            measure(group, arguments.measure, arguments.rounds)
    finally:
        group.close()


if __name__ == "__main__":
    main()
