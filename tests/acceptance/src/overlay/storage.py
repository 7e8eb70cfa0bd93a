"""Serves GET by TLS on port 443 of an address, and asks a Unix socket; ends when standard input closes."""

import os
import socket
import ssl
import sys
import threading


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def serve(plain, context, way) -> None:
    try:
        with context.wrap_socket(plain, server_side=True) as inner, socket.socket(socket.AF_UNIX) as outer:
            asked = b""
            while not asked.endswith(b"\r\n\r\n"):
                part = inner.recv(65536)
                if not part:
                    return
                asked += part
            outer.connect(way)
            outer.sendall(asked[:-2] + b"Connection: close\r\n\r\n")
            while data := outer.recv(65536):
                inner.sendall(data)
    except OSError as error:
        print(error, file=sys.stderr)


address, certificate, way = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
listener = socket.create_server((address, 443))
threading.Thread(target=end_with_parent, daemon=True).start()
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection, context, way), daemon=True).start()
