"""Uploads and downloads one object by boto3, checks it, and tells on standard output how far it is.

Arguments: endpoint, certificate, bytes. Lines: `up third`, `up SECONDS PAUSE`, `down third`, `down SECONDS PAUSE`,
`equal`. PAUSE is the longest time in which no byte moved.
"""

import hashlib
import random
import sys
import time

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

ENDPOINT, CERTIFICATE, LENGTH = sys.argv[1], sys.argv[2], int(sys.argv[3])
PART = 16 << 20


class Progress:
    """Counts bytes and the time between them."""

    def __init__(self, name):
        self.name, self.moved, self.pause = name, 0, 0.0
        self.begun = self.last = time.monotonic()

    def add(self, count):
        now = time.monotonic()
        before, self.moved = self.moved, self.moved + count
        self.pause, self.last = max(self.pause, now - self.last), now
        if before < LENGTH // 3 <= self.moved:
            print(self.name, "third", flush=True)

    def end(self):
        print(self.name, f"{time.monotonic() - self.begun:.2f} {self.pause:.2f}", flush=True)


class Source:
    """Random bytes that cannot be sought in, as a pipe is."""

    def __init__(self):
        self.random, self.left, self.digest = random.Random(4), LENGTH, hashlib.sha256()

    def read(self, size=-1):
        size = self.left if size < 0 else min(size, self.left)
        data = self.random.randbytes(size)
        self.left -= size
        self.digest.update(data)
        return data


client = boto3.client(
    "s3",
    endpoint_url=ENDPOINT,
    verify=CERTIFICATE,
    region_name="us-east-1",
    aws_access_key_id="id",
    aws_secret_access_key="secret",
    config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, read_timeout=60),
)
client.create_bucket(Bucket="data")

source, progress = Source(), Progress("up")
client.upload_fileobj(
    source,
    "data",
    "object",
    Callback=progress.add,
    Config=TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=2),
)
progress.end()

digest, progress = hashlib.sha256(), Progress("down")
for chunk in client.get_object(Bucket="data", Key="object")["Body"].iter_chunks(1 << 16):
    digest.update(chunk)
    progress.add(len(chunk))
progress.end()

if progress.moved != LENGTH or digest.digest() != source.digest.digest():
    sys.exit(f"{progress.moved} of {LENGTH} bytes came back, or others than were sent")
print("equal", flush=True)
