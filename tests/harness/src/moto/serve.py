"""Serves moto on a free loopback port, prints the port, and ends when standard input closes."""

import os
import sys
import threading

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server


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
