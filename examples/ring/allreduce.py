"""All-reduce between pods: torch.distributed with Gloo if PyTorch is installed, otherwise a ring over TCP sockets.

    group = connect(["train-0.trainers.warren.internal", "train-1.trainers.warren.internal"], rank=0)
    group.allreduce(gradients)  # an array("d"), summed over all pods in place

The ring needs the Python standard library only. Every pod listens on one port, and connects to the next pod.
"""

import operator
import select
import socket
import struct
import sys
import time
import urllib.parse
from array import array
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

JOIN = 600.0  # seconds that pods wait for each other
TIMEOUT = 60.0  # seconds until a silent pod ends the group, unless `connect` is given others
ANSWER = 10.0  # seconds until a connection is tried again
HELLO = struct.Struct("!4sII")  # "ring", rank, and number of pods
MAGIC = b"ring"


def connect(peers, rank, port=29500, backend="auto", proxy=None, timeout=TIMEOUT):
    """Joins the group of `peers`, the names of all pods in the order of their ranks. Waits until all are there.

    With `proxy`, the URL of the agent's HTTP proxy, only the ring is possible. An all-reduce fails if nothing arrives for
    `timeout` seconds.
    """
    if backend == "auto":
        backend = "gloo" if not proxy and has_torch() else "ring"
    return Gloo(peers, rank, port, timeout) if backend == "gloo" else Ring(peers, rank, port, proxy, timeout)


def has_torch():
    try:
        import torch.distributed  # noqa: F401
    except ImportError:
        return False
    return True


class Gloo:
    """The group of torch.distributed. Its sockets are plain ones, so the pod needs `exec --transparent`.

    Pods meet at the first one's `port`. Gloo then connects every pod to every other on random ports.
    """

    def __init__(self, peers, rank, port, timeout=TIMEOUT):
        import torch
        import torch.distributed

        self.torch = torch
        torch.distributed.init_process_group(
            "gloo",
            init_method=f"tcp://{peers[0]}:{port}",
            rank=rank,
            world_size=len(peers),
            timeout=timedelta(seconds=JOIN),
        )
        # Sums have a shorter timeout than joining.
        self.group = torch.distributed.new_group(timeout=timedelta(seconds=timeout))
        self.backend = torch.distributed.get_backend(self.group)

    def allreduce(self, values):
        """Sums `values` over all pods in place. All pods have the same bits afterwards."""
        tensor = self.torch.frombuffer(values, dtype=self.torch.float64)
        self.torch.distributed.all_reduce(tensor, group=self.group)

    def close(self):
        self.torch.distributed.destroy_process_group()


class Ring:
    """Pods in a circle: each sends to the next and receives from the one before."""

    backend = "ring"

    def __init__(self, peers, rank, port, proxy=None, timeout=TIMEOUT):
        self.rank, self.world, self.timeout = rank, len(peers), timeout
        # With `exec --transparent`, the other pods come to an address of the tunnel. Otherwise `--reverse` leads to loopback.
        listener = socket.create_server(("127.0.0.1" if proxy else "", port))
        with ThreadPoolExecutor(1) as thread:
            accepted = thread.submit(self.accept, listener)
            self.next = self.call(peers[(rank + 1) % self.world], port, proxy)
            self.before = accepted.result()
        listener.close()
        for stream in (self.next, self.before):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setblocking(False)

    def accept(self, listener):
        """The connection of the pod before."""
        end, expected = time.monotonic() + JOIN, self.hello(self.rank - 1)
        while time.monotonic() < end:
            listener.settimeout(max(end - time.monotonic(), 0.1))
            stream, _ = listener.accept()
            stream.settimeout(ANSWER)
            try:
                if stream.recv(HELLO.size, socket.MSG_WAITALL) == expected:
                    stream.sendall(self.hello(self.rank))
                    return stream
            except OSError as error:
                print(f"a connection failed: {error}", file=sys.stderr, flush=True)
            stream.close()
        raise TimeoutError(f"pod {(self.rank - 1) % self.world} did not connect within {JOIN:.0f} s")

    def call(self, name, port, proxy):
        """A connection to the next pod, which may not have started yet."""
        end, expected = time.monotonic() + JOIN, self.hello(self.rank + 1)
        while True:
            stream = None
            try:
                stream = through(proxy, name, port) if proxy else socket.create_connection((name, port), ANSWER)
                stream.sendall(self.hello(self.rank))
                # An answer of the pod itself: a forward accepts a connection before the pod's program does.
                if stream.recv(HELLO.size, socket.MSG_WAITALL) == expected:
                    return stream
                raise ConnectionError("the pod does not answer")
            except OSError as error:
                if stream:
                    stream.close()
                if time.monotonic() > end:
                    raise ConnectionError(f"cannot reach {name}:{port}: {error}") from error
                print(f"waiting for {name}:{port}: {error}", file=sys.stderr, flush=True)
                time.sleep(0.5)

    def hello(self, rank):
        return HELLO.pack(MAGIC, rank % self.world, self.world)

    def allreduce(self, values):
        """Sums `values` over all pods in place. All pods have the same bits afterwards."""
        world, rank = self.world, self.rank
        parts = bounds(len(values), world)
        # Each part travels once around the ring and is summed on the way ...
        for step in range(world - 1):
            outgoing, incoming = parts[(rank - step) % world], parts[(rank - step - 1) % world]
            received = self.exchange(values[outgoing], incoming)
            values[incoming] = array("d", map(operator.add, received, values[incoming]))
        # ... and then once more, with its sum.
        for step in range(world - 1):
            outgoing, incoming = parts[(rank + 1 - step) % world], parts[(rank - step) % world]
            values[incoming] = self.exchange(values[outgoing], incoming)

    def exchange(self, outgoing, incoming):
        """Sends to the next pod while receiving from the one before; neither waits for the other."""
        received = array("d", bytes(8 * (incoming.stop - incoming.start)))
        sending, receiving = memoryview(outgoing).cast("B"), memoryview(received).cast("B")
        while sending or receiving:
            readers, writers = [self.before] if receiving else [], [self.next] if sending else []
            readable, writable, _ = select.select(readers, writers, [], self.timeout)
            if not readable and not writable:
                raise TimeoutError(f"pod {self.rank}: no data for {self.timeout:.0f} s")
            if readable:
                count = self.before.recv_into(receiving)
                if count == 0:
                    raise ConnectionError(f"pod {(self.rank - 1) % self.world} has left the ring")
                receiving = receiving[count:]
            if writable:
                sending = sending[self.next.send(sending) :]
        return received

    def close(self):
        self.next.close()
        self.before.close()


def bounds(length, world):
    """The parts of an array, one per pod."""
    return [slice(length * part // world, length * (part + 1) // world) for part in range(world)]


def sum_in_order(arrays):
    """The sum that a ring computes, by one process: floating-point addition depends on the order."""
    total = array("d", bytes(8 * len(arrays[0])))
    for first, part in enumerate(bounds(len(total), len(arrays))):
        values = arrays[first][part]
        for pod in range(first + 1, first + len(arrays)):
            values = array("d", map(operator.add, values, arrays[pod % len(arrays)][part]))
        total[part] = values
    return total


def through(proxy, name, port):
    """A connection through the agent's HTTP proxy, which resolves the name."""
    at = urllib.parse.urlsplit(proxy)
    stream = socket.create_connection((at.hostname, at.port), ANSWER)
    try:
        stream.sendall(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = stream.recv(1)  # not more: the answer of the pod follows
            if not byte:
                raise ConnectionError("the proxy closed the connection")
            head += byte
        status = head.split(b"\r\n")[0].decode(errors="replace")
        if status.split()[1:2] != ["200"]:
            raise ConnectionError(f"the proxy says {status}")
    except BaseException:
        stream.close()
        raise
    return stream
