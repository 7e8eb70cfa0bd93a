"""Logistic regression in numpy: the model that the sites train together, and the sample data to try it with.

Run as a program, it writes sample data:  python3 model.py FOLDER
"""

import hashlib
import io
import json
import sys
import urllib.request
from pathlib import Path

import numpy as np

FEATURES = 48
SAMPLES = {"site-aws": 4000, "site-gcp": 2500, "site-runpod": 3200}
RATE = 0.5


def initial():
    """The weights before the first round: one for each feature, and the bias."""
    return np.zeros(FEATURES + 1)


def loss(weights, x, y):
    """The mean cross-entropy."""
    scores = x @ weights[:-1] + weights[-1]
    return float(np.mean(np.logaddexp(0.0, scores) - y * scores))


def accuracy(weights, x, y):
    """The share of samples that the model classifies correctly."""
    return float(np.mean((x @ weights[:-1] + weights[-1] > 0) == (y > 0.5)))


def train(weights, x, y, epochs):
    """Gradient descent from these weights on all samples of one site."""
    weights = weights.copy()
    for _ in range(epochs):
        error = 1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1]))) - y
        weights[:-1] -= RATE * (x.T @ error) / len(y)
        weights[-1] -= RATE * error.mean()
    return weights


def digest(weights):
    """SHA-256 of the weights, to compare them to the last bit."""
    return hashlib.sha256(weights.astype("<f8").tobytes()).hexdigest()


def load(source):
    """Samples and labels from a file of the site, or from an HTTP server of the site."""
    if source.startswith(("http://", "https://")):
        with urllib.request.urlopen(source, timeout=60) as answer:
            source = io.BytesIO(answer.read())
    with np.load(source) as data:
        return data["x"], data["y"]


def report(event, **values):
    """Prints an event as a line of JSON."""
    print(json.dumps({"event": event, **values}), flush=True)


def sample(name):
    """Sample data. At each site, mostly a third of the features vary, so no site can learn the whole model alone."""
    sites = list(SAMPLES)
    numbers = np.random.default_rng(17)
    truth = numbers.normal(size=FEATURES)
    numbers = np.random.default_rng([17, sites.index(name) if name in sites else len(sites)])
    spread = np.ones(FEATURES)
    if name in sites:
        spread[:] = 0.05
        spread[sites.index(name) :: len(sites)] = 1
    x = numbers.normal(size=(SAMPLES.get(name, 2000), FEATURES)) * spread
    return x, (x @ truth + 0.3 * numbers.logistic(size=len(x)) > 0).astype("f8")


def main():
    folder = Path(sys.argv[1])
    for name in [*SAMPLES, "holdout"]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        x, y = sample(name)
        np.savez(folder / name / "samples.npz", x=x, y=y)


if __name__ == "__main__":
    main()
