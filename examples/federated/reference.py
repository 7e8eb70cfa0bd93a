"""Federated averaging in one process, without Flower and without a network, which must have the same weights.

It needs the data of all sites in one place, which is what federated training avoids: it is for sample data only.
"""

import argparse
from pathlib import Path

import model


def average(results):
    """The mean of weights, each weighted by its number of samples."""
    total = sum(samples for _, samples in results)
    mean = results[0][0] * (results[0][1] / total)
    for weights, samples in results[1:]:
        mean = mean + weights * (samples / total)
    return mean


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder that model.py wrote")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    load = lambda name: model.load(str(options.data / name / "samples.npz"))
    sites = {name: load(name) for name in sorted(model.SAMPLES)}
    holdout = load("holdout")

    for name, (x, y) in sites.items():
        alone = model.train(model.initial(), x, y, options.rounds * options.epochs)
        model.report("alone", site=name, accuracy=model.accuracy(alone, *holdout))

    weights = model.initial()
    for number in range(1, options.rounds + 1):
        samples = sum(len(y) for _, y in sites.values())
        loss = sum(len(y) * model.loss(weights, x, y) for x, y in sites.values()) / samples
        model.report("round", round=number, sites=list(sites), samples=samples, loss=loss)
        weights = average([(model.train(weights, x, y, options.epochs), len(y)) for x, y in sites.values()])
    model.report("done", rounds=options.rounds, weights=model.digest(weights), accuracy=model.accuracy(weights, *holdout))


if __name__ == "__main__":
    main()
