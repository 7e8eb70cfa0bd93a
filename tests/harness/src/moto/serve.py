"""Serves moto on a free loopback port, prints the port, and ends when standard input closes."""

import os
import sys
import threading

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.ec2.models import elastic_ip_addresses
from moto.ec2.utils import random_public_ip
from werkzeug.serving import make_server

# An elastic address is one that packets can be sent to, not one of 127.0.0.0/8.
elastic_ip_addresses.random_ip = random_public_ip


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
server = make_server(
    "127.0.0.1",
    0,
    DomainDispatcherApplication(create_backend_app),
    threaded=True,
    request_handler=MotoRequestHandler,
)
os.environ["MOTO_PORT"] = str(server.server_port)
print(server.server_port, flush=True)
server.serve_forever()
