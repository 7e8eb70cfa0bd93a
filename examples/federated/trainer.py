"""The trainer of a site: trains on the site's data, and sends weights to the aggregator. Samples stay in this process.

Each event is a line of JSON on standard output. The log of Flower is on standard error.
"""

import argparse
import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # before Flower is imported

import flwr.client

import model


class Trainer(flwr.client.NumPyClient):
    def __init__(self, site, x, y, epochs):
        self.site, self.x, self.y, self.epochs = site, x, y, epochs

    def fit(self, parameters, config):
        (weights,) = parameters
        before = model.loss(weights, self.x, self.y)
        weights = model.train(weights, self.x, self.y, self.epochs)
        model.report("trained", site=self.site, loss=before, weights=model.digest(weights))
        return [weights], len(self.y), {"site": self.site, "loss": before}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", required=True, help="name of the site")
    parser.add_argument("--data", required=True, help="file, or URL in the site, of samples in numpy's format")
    parser.add_argument("--server", default="aggregator.warren.internal:8080", help="host and port of the aggregator")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the data in each round")
    parser.add_argument("--wait", type=float, default=600, help="seconds to wait for the aggregator")
    options = parser.parse_args()
    x, y = model.load(options.data)
    model.report("loaded", site=options.site, samples=len(y), bytes=x.nbytes + y.nbytes)
    trainer = Trainer(options.site, x, y, options.epochs)
    flwr.client.start_client(
        server_address=options.server,
        client=trainer.to_client(),
        insecure=True,  # the tunnel encrypts
        max_wait_time=options.wait,
    )
    model.report("done", site=options.site)


if __name__ == "__main__":
    main()
