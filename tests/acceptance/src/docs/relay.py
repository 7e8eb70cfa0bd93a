"""Listens on a port of the loopback, and passes each connection on to a Unix socket: `relay.py PORT SOCKET`."""

import socket
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    client, _ = listener.accept()
    service = socket.socket(socket.AF_UNIX)
    service.connect(sys.argv[2])
    for pair in ((client, service), (service, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
