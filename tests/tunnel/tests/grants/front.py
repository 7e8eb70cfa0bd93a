"""STS and S3 as pods and gateways see them: moto behind checks that moto does not make.

* Requests to STS have a valid signature of the gateway's key, and only the fields that they should have.
* Requests to S3 come with credentials that were issued here, and their session policy must allow them.

* The metadata server and the token service of Google Cloud are here too, and Google Storage, which is S3 with other credentials.
  A token's access boundary must allow each request.

Arguments: address, port, folder. The folder gets `sts.jsonl`, `google.jsonl` and `s3.jsonl`, one line for each request. A file `fault` in it
holds `throttle`, `down` or `short` for the requests to STS.
"""

import fnmatch
import json
import os
import re
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import ThreadedMotoServer

ADDRESS, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
OWN = Credentials("AKIAGATEWAY", "gateway-secret-never-seen-elsewhere")
SOURCE = "token-of-the-service-account-never-seen-elsewhere"
EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "subject_token": SOURCE,
}
boundaries = {}
FIELDS = {"Action", "Version", "RoleArn", "RoleSessionName", "DurationSeconds", "Policy"}
issued = {}
lock = threading.Lock()


def note(name, line):
    with lock, open(os.path.join(FOLDER, name), "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def fault():
    try:
        with open(os.path.join(FOLDER, "fault"), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def as_list(value):
    return value if isinstance(value, list) else [value]


def like(pattern, text):
    # Only `*` is a wildcard in the policies of a gateway.
    assert not set("?[") & set(pattern), pattern
    return fnmatch.fnmatchcase(text, pattern)


def allows(policy, action, resource, prefix):
    for statement in policy["Statement"]:
        condition = statement.get("Condition", {}).get("StringLike", {}).get("s3:prefix")
        if (
            statement["Effect"] == "Allow"
            and action in as_list(statement["Action"])
            and any(like(pattern, resource) for pattern in as_list(statement["Resource"]))
            and (condition is None or any(like(pattern, prefix or "") for pattern in as_list(condition)))
        ):
            return True
    return False


def wanted(method, url):
    """The action, the resource and the prefix of a request to S3, path style."""
    bucket, _, key = unquote(url.path).lstrip("/").partition("/")
    query = parse_qs(url.query, keep_blank_values=True)
    if not key:
        action = {"GET": "s3:ListBucket", "HEAD": "s3:ListBucket"}.get(method, "s3:Other")
        return action, f"arn:aws:s3:::{bucket}", query.get("prefix", [""])[0]
    action = {"GET": "s3:GetObject", "HEAD": "s3:GetObject", "PUT": "s3:PutObject", "POST": "s3:PutObject"}
    action = action.get(method, "s3:DeleteObject")
    if method == "DELETE" and "uploadId" in query:
        action = "s3:AbortMultipartUpload"
    return action, f"arn:aws:s3:::{bucket}/{key}", None


def within(boundary, action, bucket, name, prefix):
    """Whether a Credential Access Boundary allows a request. Knows the expressions of a gateway, and no others."""
    allowed = {
        "inRole:roles/storage.objectViewer": {"s3:GetObject", "s3:ListBucket"},
        "inRole:roles/storage.objectUser": {"s3:GetObject", "s3:ListBucket", "s3:PutObject", "s3:DeleteObject"},
    }
    for rule in boundary["accessBoundary"]["accessBoundaryRules"]:
        (role,) = rule["availablePermissions"]
        if rule["availableResource"] != f"//storage.googleapis.com/projects/_/buckets/{bucket}" or action not in allowed[role]:
            continue
        condition = rule.get("availabilityCondition")
        if condition is None:
            return True
        match = re.fullmatch(
            r"resource\.name\.startsWith\('([^']*)'\) \|\| "
            r"api\.getAttribute\('storage\.googleapis\.com/objectListPrefix', ''\)\.startsWith\('([^']*)'\)",
            condition["expression"],
        )
        resource = f"projects/_/buckets/{bucket}" + (f"/objects/{name}" if name else "")
        if resource.startswith(match[1]) or (action == "s3:ListBucket" and (prefix or "").startswith(match[2])):
            return True
    return False


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def forward(self, body, change=lambda body: body):
        connection = HTTPConnection("127.0.0.1", MOTO)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("transfer-encoding", "expect")}
        headers["Content-Length"] = str(len(body))
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = change(answer.read())
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in ("connection", "server", "date", "transfer-encoding")]
        if self.command != "HEAD":
            kept = [(k, v) for k, v in kept if k.lower() != "content-length"]
        self.reply(answer.status, content, kept)

    def error(self, status, code, message):
        body = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
        if self.path != "/":
            body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
        self.reply(status, body.encode(), [("Content-Type", "text/xml")])

    def sts(self, body):
        fields = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        note("sts.jsonl", {"fields": fields, "at": time.time()})
        authorization = self.headers.get("Authorization", "")
        match = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=(\w+)/\d{8}/us-east-1/sts/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w+)",
            authorization,
        )
        if not match or match[1] != OWN.access_key or set(fields) != FIELDS or fields["Action"] != "AssumeRole":
            return self.error(400, "ValidationError", "not as a gateway asks")
        signed = {name: self.headers[name] for name in match[2].split(";")}
        request = AWSRequest("POST", f"http://{self.headers['Host']}/", data=body, headers=signed)
        request.context["timestamp"] = self.headers["x-amz-date"]
        auth = SigV4Auth(OWN, "sts", "us-east-1")
        text = auth.string_to_sign(request, auth.canonical_request(request))
        if auth.signature(text, request) != match[3]:
            return self.error(403, "SignatureDoesNotMatch", "the signature does not match")
        if len(fields["Policy"]) > 2048 or not re.fullmatch(r"[\w+=,.@-]{2,64}", fields["RoleSessionName"], re.A):
            return self.error(400, "ValidationError", "too long")
        how = fault()
        if how == "throttle":
            os.remove(os.path.join(FOLDER, "fault"))
            return self.error(400, "Throttling", "Rate exceeded")
        if how == "down":
            return self.error(503, "ServiceUnavailable", "down")
        if how == "denied":
            return self.error(403, "AccessDenied", "User: arn:aws:iam::123456789012:user/gw is not authorized")

        def change(content):
            text = content.decode()
            key = re.search(r"<AccessKeyId>(.*?)</AccessKeyId>", text)[1]
            token = re.search(r"<SessionToken>(.*?)</SessionToken>", text)[1]
            secret = re.search(r"<SecretAccessKey>(.*?)</SecretAccessKey>", text)[1]
            issued[key] = (token, json.loads(fields["Policy"]))
            note("issued.jsonl", {"key": key, "secret": secret, "token": token})
            if how == "short":
                end = (datetime.now(timezone.utc) + timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
                text = re.sub(r"<Expiration>.*?</Expiration>", f"<Expiration>{end}</Expiration>", text)
            return text.encode()

        return self.forward(body, change)

    def s3(self, body):
        url = urlsplit(self.path)
        if url.path == "/open":
            return self.reply(200, b"open\n")
        action, resource, prefix = wanted(self.command, url)
        match = re.search(r"Credential=(\w+)/", self.headers.get("Authorization", ""))
        key = match[1] if match else ""
        token, policy = issued.get(key, ("", {"Statement": []}))
        if not token or self.headers.get("x-amz-security-token") != token:
            note("s3.jsonl", {"action": action, "resource": resource, "key": key, "allowed": None})
            return self.error(403, "InvalidAccessKeyId", "not issued here")
        allowed = allows(policy, action, resource, prefix)
        note("s3.jsonl", {"action": action, "resource": resource, "prefix": prefix, "key": key, "allowed": allowed})
        if not allowed:
            return self.error(403, "AccessDenied", "no session policy allows it")
        return self.forward(body)

    def google(self, body):
        """The metadata server and the token service."""
        if self.command == "GET":
            if self.headers.get("Metadata-Flavor") != "Google" or not self.path.endswith("/default/token"):
                return self.reply(403, b"no")
            return self.reply(200, json.dumps({"access_token": SOURCE, "expires_in": 3599, "token_type": "Bearer"}).encode())
        fields = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        boundary = json.loads(fields.pop("options"))
        note("google.jsonl", {"boundary": boundary})
        if fields != EXCHANGE:
            return self.reply(400, b'{"error": "invalid_request"}')
        token = f"narrow-token-{len(boundaries)}-of-the-pod"
        boundaries[token] = boundary
        note("issued.jsonl", {"key": "google", "secret": token, "token": SOURCE})
        return self.reply(200, json.dumps({"access_token": token, "expires_in": 3500, "token_type": "Bearer"}).encode())

    def gs(self, body):
        action, resource, prefix = wanted(self.command, urlsplit(self.path))
        bucket, _, name = resource.removeprefix("arn:aws:s3:::").partition("/")
        boundary = boundaries.get(self.headers["Authorization"].removeprefix("Bearer "))
        if boundary is None or not within(boundary, action, bucket, name, prefix):
            return self.error(403, "AccessDenied", "no access boundary allows it")
        self.headers.replace_header("Authorization", "AWS id:0")
        # Clients of Google Storage encode every character of names.
        path, mark, query = self.path.partition("?")
        self.path = quote(unquote(path), safe="/") + mark + query
        return self.forward(body)

    def handle_request(self):
        body = self.body()
        if self.path.startswith("/computeMetadata/") or self.path == "/v1/token":
            return self.google(body)
        if self.headers.get("Authorization", "").startswith("Bearer "):
            return self.gs(body)
        if self.command == "POST" and self.path == "/":
            return self.sts(body)
        return self.s3(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request


moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
moto.start()
_, MOTO = moto.get_host_and_port()


def setup():
    connection = HTTPConnection("127.0.0.1", MOTO)
    for path, body in (
        ("/acme-data", b""),
        ("/acme-other", b""),
        ("/acme-gs", b""),
        ("/acme-gs/llm/e.txt", b"epsilon"),
        ("/acme-gs/secret/f.txt", b"phi"),
        ("/acme-data/llm/a.txt", b"alpha"),
        ("/acme-data/llm/deep/b.txt", b"beta"),
        ("/acme-data/secret/c.txt", b"gamma"),
        ("/acme-other/d.txt", b"delta"),
    ):
        connection.request("PUT", path, body, {"Authorization": "AWS id:0"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, path


setup()
ThreadingHTTPServer((ADDRESS, PORT), Handler).serve_forever()
