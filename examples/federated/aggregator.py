"""The aggregator: averages the weights of the sites with Flower's FedAvg. It has no data, and needs no path to any.

Each event is a line of JSON on standard output. The log of Flower is on standard error.
"""

import argparse
import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # before Flower is imported

import flwr.server
import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays

import model


class FedAvg(flwr.server.strategy.FedAvg):
    """Flower's FedAvg, with sums in the order of the sites' names.

    Sums of floating-point numbers depend on the order. Flower adds results as they arrive, so its weights would differ from run
    to run in their last bits.
    """

    weights = model.initial()

    def aggregate_fit(self, server_round, results, failures):
        results = sorted(results, key=lambda result: result[1].metrics["site"])
        parameters, metrics = super().aggregate_fit(server_round, results, failures)
        if parameters is None:
            # The weights stay as they were. The next round waits until all sites are there.
            model.report("failed", round=server_round, failures=len(failures))
            return None, {}
        (self.weights,) = parameters_to_ndarrays(parameters)
        samples = sum(result.num_examples for _, result in results)
        mean = sum(result.num_examples * result.metrics["loss"] for _, result in results) / samples
        sites = [result.metrics["site"] for _, result in results]
        model.report("round", round=server_round, sites=sites, samples=samples, loss=mean)
        return parameters, metrics


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:8080", help="where to accept sites; the agent forwards to it")
    parser.add_argument("--sites", type=int, default=3, help="number of sites, all of which take part in each round")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", help="file for the weights, in numpy's format")
    options = parser.parse_args()
    strategy = FedAvg(
        min_fit_clients=options.sites,
        min_available_clients=options.sites,
        fraction_evaluate=0.0,
        accept_failures=False,
        initial_parameters=ndarrays_to_parameters([model.initial()]),
    )
    flwr.server.start_server(
        server_address=options.listen,
        config=flwr.server.ServerConfig(num_rounds=options.rounds),
        strategy=strategy,
    )
    if options.out:
        np.save(options.out, strategy.weights)
    model.report("done", rounds=options.rounds, weights=model.digest(strategy.weights), bytes=strategy.weights.nbytes)


if __name__ == "__main__":
    main()
