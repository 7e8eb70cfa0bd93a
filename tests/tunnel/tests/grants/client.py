"""What boto3 may do in a pod, with nothing but what the environment says. Argument: endpoint. One line for each attempt."""

import os
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

assert not any(name.startswith("AWS_SECRET") or name.startswith("AWS_ACCESS") for name in os.environ)
session = boto3.Session(region_name="us-east-1")
credentials = session.get_credentials()
print("method", credentials.method if credentials else None)
config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})


def attempt(name, call):
    try:
        print(name, call())
    except ClientError as error:
        print(name, error.response["Error"]["Code"])
    except BotoCoreError as error:
        print(name, type(error).__name__)


if credentials:
    s3 = session.client("s3", endpoint_url=sys.argv[1], config=config)

    def keys(bucket, prefix):
        return ",".join(entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", []))

    attempt("list llm/", lambda: keys("acme-data", "llm/"))
    attempt("list all", lambda: keys("acme-data", ""))
    attempt("list other", lambda: keys("acme-other", ""))
    attempt("get a", lambda: s3.get_object(Bucket="acme-data", Key="llm/a.txt")["Body"].read().decode())
    attempt("get secret", lambda: s3.get_object(Bucket="acme-data", Key="secret/c.txt")["Body"].read().decode())
    attempt("get other", lambda: s3.get_object(Bucket="acme-other", Key="d.txt")["Body"].read().decode())
    attempt("put llm/", lambda: s3.put_object(Bucket="acme-data", Key="llm/x", Body=b"x") and "done")
    attempt("put out/", lambda: s3.put_object(Bucket="acme-data", Key="out/x", Body=b"x") and "done")
    attempt("delete out/", lambda: s3.delete_object(Bucket="acme-data", Key="out/x") and "done")
