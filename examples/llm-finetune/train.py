"""Fine-tunes a small language model of characters, and continues from the newest complete checkpoint.

A checkpoint is a folder `step-NNNNNN` with the weights, the state of the optimizer, and the number of the next step. It is
written under another name and renamed, and has the file `done`. Each step is a line of JSON on standard output.
"""

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import signal
import sys
from array import array
from pathlib import Path

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz.,"
CONTEXT, EMBED, HIDDEN, BATCH, RATE, SEED = 3, 6, 16, 8, 0.01, 5
MANIFEST = ".warren-complete.json"  # at the destination of `sync --watch`: the checkpoint is complete

CHARS = len(ALPHABET)
INPUTS = CONTEXT * EMBED
# The parts of the array of weights.
INPUT, BIAS = CHARS * EMBED, CHARS * EMBED + INPUTS * HIDDEN
OUTPUT, SIZE = BIAS + HIDDEN, BIAS + HIDDEN + HIDDEN * CHARS


class Model:
    """Weights and the state of Adam."""

    def __init__(self):
        numbers = random.Random(SEED)
        self.step = 0
        self.weights = array("d", (numbers.gauss(0, 0.15) for _ in range(SIZE)))
        self.mean, self.square = array("d", bytes(8 * SIZE)), array("d", bytes(8 * SIZE))

    def save(self, folder):
        """Writes a checkpoint so that it is complete or absent, whenever the process is killed."""
        name = f"step-{self.step:06}"
        part = folder / f"tmp-{name}"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for file, values in self.files().items():
            with open(part / file, "wb") as out:
                values.tofile(out)
                out.flush()
                os.fsync(out.fileno())
        (part / "state.json").write_text(json.dumps({"step": self.step, "sha256": self.digest()}))
        (part / "done").touch()
        shutil.rmtree(folder / name, ignore_errors=True)
        part.rename(folder / name)
        tell("checkpoint", name=name)

    def load(self, folder):
        """Reads a checkpoint, or the weights of a base model alone."""
        state = json.loads((folder / "state.json").read_text())
        for file, values in self.files().items():
            content = (folder / file).read_bytes()
            if len(content) != 8 * SIZE:
                sys.exit(f"{folder / file} has {len(content)} bytes, expected {8 * SIZE}")
            values[:] = array("d", content)
        self.step = state["step"]
        if state["sha256"] != self.digest():
            sys.exit(f"{folder} is damaged: its SHA-256 differs from the one in state.json")

    def files(self):
        return {"weights.bin": self.weights, "mean.bin": self.mean, "square.bin": self.square}

    def digest(self):
        return hashlib.sha256(b"".join(values.tobytes() for values in self.files().values())).hexdigest()

    def update(self, gradients):
        """One step of Adam."""
        self.step += 1
        scale = RATE * math.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
        for index, slope in enumerate(gradients):
            self.mean[index] += 0.1 * (slope - self.mean[index])
            self.square[index] += 0.001 * (slope * slope - self.square[index])
            self.weights[index] -= scale * self.mean[index] / (math.sqrt(self.square[index]) + 1e-8)


def learn(weights, gradients, context, target):
    """Adds the gradients of one sample. Returns its loss in nats."""
    inputs = [weights[char * EMBED + index] for char in context for index in range(EMBED)]
    hidden = []
    for unit in range(HIDDEN):
        start = INPUT + unit * INPUTS
        hidden.append(math.tanh(weights[BIAS + unit] + sum(map(float.__mul__, weights[start : start + INPUTS], inputs))))
    scores = []
    for char in range(CHARS):
        start = OUTPUT + char * HIDDEN
        scores.append(sum(map(float.__mul__, weights[start : start + HIDDEN], hidden)))
    highest = max(scores)
    shares = [math.exp(score - highest) for score in scores]
    total = sum(shares)
    loss = math.log(total) - (scores[target] - highest)
    back = [0.0] * HIDDEN
    for char in range(CHARS):
        error = shares[char] / total - (char == target)
        start = OUTPUT + char * HIDDEN
        for unit in range(HIDDEN):
            gradients[start + unit] += error * hidden[unit]
            back[unit] += error * weights[start + unit]
    for unit in range(HIDDEN):
        slope = back[unit] * (1 - hidden[unit] * hidden[unit])
        gradients[BIAS + unit] += slope
        start = INPUT + unit * INPUTS
        for index in range(INPUTS):
            gradients[start + index] += slope * inputs[index]
            gradients[context[index // EMBED] * EMBED + index % EMBED] += slope * weights[start + index]
    return loss


def train_step(model, text):
    """The samples of a step depend on its number only, so a resumed run reads the same ones."""
    numbers = random.Random(SEED * 1_000_003 + model.step)
    gradients = array("d", bytes(8 * SIZE))
    loss = 0.0
    for _ in range(BATCH):
        at = numbers.randrange(CONTEXT, len(text))
        loss += learn(model.weights, gradients, text[at - CONTEXT : at], text[at])
    model.update(array("d", (slope / BATCH for slope in gradients)))
    return loss / BATCH


def newest(folder):
    """The newest checkpoint below a folder that was uploaded as a whole."""
    complete = sorted(path.parent for path in folder.glob(f"step-*/{MANIFEST}"))
    return complete[-1] if complete else None


def tell(event, **values):
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus.txt and, optionally, the folder base")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder that checkpoints are written to")
    parser.add_argument("--restored", type=Path, help="folder with the checkpoints of earlier pods")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--every", type=int, default=50, help="steps between two checkpoints")
    arguments = parser.parse_args()

    known = {char: index for index, char in enumerate(ALPHABET)}
    corpus = (arguments.data / "corpus.txt").read_text().lower()
    text = [known[char] for char in corpus if char in known]
    model = Model()
    resumed = newest(arguments.restored) if arguments.restored else None
    if resumed:
        model.load(resumed)
        tell("resumed", checkpoint=resumed.name)
    elif (arguments.data / "base").is_dir():
        model.load(arguments.data / "base")
        model.step = 0
        tell("base")

    stopping = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))
    while model.step < arguments.steps:
        step = model.step
        tell("step", step=step, loss=train_step(model, text))
        if model.step % arguments.every == 0 or model.step == arguments.steps or stopping:
            model.save(arguments.checkpoints)
        if stopping:
            tell("stopped", step=model.step)
            sys.exit(143)
    tell("done", step=model.step, sha256=model.digest())


if __name__ == "__main__":
    main()
