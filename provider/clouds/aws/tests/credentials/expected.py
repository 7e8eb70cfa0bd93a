"""Asks botocore which settings and credentials many combinations of environment, files and provider block give.

Starts endpoints that issue credentials: STS, IAM Identity Center, the container and the instance. The ID of an access key
is a hash of everything that was requested, so equal IDs mean equal requests.

Usage: expected.py FOLDER BUNDLE. Prints the cases as one line of JSON, then serves until its input ends.
"""

import hashlib
import itertools
import json
import os
import random
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import botocore.credentials
import botocore.loaders
import botocore.session
import botocore.tokens
from botocore.config import Config
from botocore.utils import JSONFileCache

# Shared, because reading the service models takes longer than everything else.
LOADER = botocore.loaders.create_loader()

FUTURE = "2099-01-01T00:00:00Z"


def key(*parts):
    text = json.dumps(parts, sort_keys=True)
    return "ASIA" + hashlib.sha256(text.encode()).hexdigest()[:16].upper()


class Issuer(BaseHTTPRequestHandler):
    """Issues credentials."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", headers=()):
        body = body if isinstance(body, str) else json.dumps(body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def keys(self, *parts):
        return {
            "Code": "Success",
            "Type": "AWS-HMAC",
            "LastUpdated": "2020-01-01T00:00:00Z",
            "AccessKeyId": key(*parts),
            "SecretAccessKey": "s" * 40,
            "Token": "t" * 40,
            "Expiration": FUTURE,
        }

    def do_PUT(self):
        self.answer(200, "token", "text/plain", [("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")])

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/federation/credentials":
            bearer = self.headers.get("x-amz-sso_bearer_token")
            if bearer != "sso-token":
                return self.answer(401, {"message": "Session token not found or invalid"}, headers=[
                    ("x-amzn-ErrorType", "UnauthorizedException")])
            keys = self.keys("sso", query["role_name"], query["account_id"])
            return self.answer(200, {"roleCredentials": {
                "accessKeyId": keys["AccessKeyId"],
                "secretAccessKey": keys["SecretAccessKey"],
                "sessionToken": keys["Token"],
                "expiration": 4070908800000,
            }})
        if url.path.startswith("/container"):
            return self.answer(200, self.keys("container", self.headers.get("Authorization")))
        if url.path == "/latest/meta-data/iam/security-credentials/":
            return self.answer(200, "role-of-instance", "text/plain")
        if url.path == "/latest/meta-data/iam/security-credentials/role-of-instance":
            return self.answer(200, self.keys("instance"))
        return self.answer(404, "", "text/plain")

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        action = form.pop("Action")
        form.pop("Version")
        if not form.get("RoleSessionName", "").startswith("case-"):
            form.pop("RoleSessionName", None)
        signed = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        body = f"""<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>
            <AssumedRoleUser><AssumedRoleId>AROA:x</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/x/x</Arn></AssumedRoleUser>
            <Credentials><AccessKeyId>{key(action, form, signed and signed[1])}</AccessKeyId>
            <SecretAccessKey>{"s" * 40}</SecretAccessKey><SessionToken>{"t" * 40}</SessionToken>
            <Expiration>{FUTURE}</Expiration></Credentials></{action}Result></{action}Response>"""
        self.answer(200, body, "text/xml")


ARN = "arn:aws:iam::123456789012:role/"

# Entries of a profile, by what they give.
PROFILES = {
    "nothing": "output = json",
    "keys": "aws_access_key_id = AKIAPROFILE{n}\naws_secret_access_key = secret",
    "session": "aws_access_key_id = ASIAPROFILE{n}\naws_secret_access_key = secret\naws_session_token = token",
    "half": "aws_access_key_id = AKIAHALF{n}",
    "region": "region = ap-south-{n}\naws_access_key_id = AKIAREGION{n}\naws_secret_access_key = secret",
    "process": "credential_process = {dir}/process AKIAPROCESS{n}",
    "process-and-keys": "credential_process = {dir}/process AKIABOTH{n}\naws_access_key_id = AKIASTATIC{n}\n"
    "aws_secret_access_key = secret",
    "failing-process": "credential_process = /bin/false",
    "sso": "sso_start_url = https://sso.example/start\nsso_region = us-east-1\nsso_account_id = 123456789012\n"
    "sso_role_name = Reader{n}",
    "sso-session": "sso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Writer{n}",
    "sso-expired": "sso_start_url = https://expired.example/start\nsso_region = us-east-1\n"
    "sso_account_id = 123456789012\nsso_role_name = Reader{n}",
    "sso-unknown": "sso_session = nowhere\nsso_account_id = 123456789012\nsso_role_name = Writer{n}",
    "sso-incomplete": "sso_session = corp\nsso_account_id = 123456789012",
    "web": "role_arn = " + ARN + "web{n}\nweb_identity_token_file = {dir}/token\nrole_session_name = case-web",
    "web-half": "web_identity_token_file = {dir}/token",
    "role": "role_arn = " + ARN + "a{n}\nsource_profile = base",
    "role-full": "role_arn = " + ARN + "b{n}\nsource_profile = base\nexternal_id = x{n}\nduration_seconds = 1800\n"
    "role_session_name = case-full",
    "role-chain": "role_arn = " + ARN + "c{n}\nsource_profile = middle",
    "role-environment": "role_arn = " + ARN + "d{n}\ncredential_source = Environment",
    "role-container": "role_arn = " + ARN + "e{n}\ncredential_source = EcsContainer",
    "role-instance": "role_arn = " + ARN + "f{n}\ncredential_source = Ec2InstanceMetadata",
    "role-other": "role_arn = " + ARN + "g{n}\ncredential_source = Elsewhere",
    "role-itself": "role_arn = " + ARN + "h{n}\nsource_profile = {name}\naws_access_key_id = AKIASELF{n}\n"
    "aws_secret_access_key = secret",
    "role-loop": "role_arn = " + ARN + "i{n}\nsource_profile = {name}",
    "role-circle": "role_arn = " + ARN + "j{n}\nsource_profile = circle",
    "role-alone": "role_arn = " + ARN + "k{n}",
    "role-both": "role_arn = " + ARN + "l{n}\nsource_profile = base\ncredential_source = Environment",
    "role-nowhere": "role_arn = " + ARN + "m{n}\nsource_profile = nowhere",
    "role-empty": "role_arn = " + ARN + "n{n}\nsource_profile = empty",
    "role-mfa": "role_arn = " + ARN + "o{n}\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me",
    "role-mfa-stored": "role_arn = " + ARN + "t{n}\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me\n"
    "external_id = x{n}",
    "role-sso": "role_arn = " + ARN + "p{n}\nsource_profile = signed-in",
    "role-web": "role_arn = " + ARN + "q{n}\nsource_profile = web",
    "role-process": "role_arn = " + ARN + "r{n}\nsource_profile = process",
    "role-of-role-with-keys": "role_arn = " + ARN + "s{n}\nsource_profile = keyed",
}

# Profiles that others name.
COMMON = """
[profile base]
aws_access_key_id = AKIABASE
aws_secret_access_key = secret
[profile middle]
role_arn = arn:aws:iam::123456789012:role/middle
source_profile = base
external_id = middle
[profile keyed]
role_arn = arn:aws:iam::123456789012:role/keyed
source_profile = base
aws_access_key_id = AKIAKEYED
aws_secret_access_key = secret
[profile circle]
role_arn = arn:aws:iam::123456789012:role/circle
source_profile = middle-circle
[profile middle-circle]
role_arn = arn:aws:iam::123456789012:role/circle2
source_profile = circle
[profile empty]
output = json
[profile signed-in]
sso_session = corp
sso_account_id = 123456789012
sso_role_name = Source
[profile web]
role_arn = arn:aws:iam::123456789012:role/websource
web_identity_token_file = {dir}/token
[profile process]
credential_process = {dir}/process AKIASOURCE
[sso-session corp]
sso_region = us-east-1
sso_start_url = https://corp.example/start
[services local]
ec2 =
  endpoint_url = http://127.0.0.1:7001
"""

ENVIRONMENTS = {
    "empty": {},
    "keys": {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "secret"},
    "session": {"AWS_ACCESS_KEY_ID": "ASIAENV", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"},
    "half": {"AWS_ACCESS_KEY_ID": "AKIAENV"},
    "blank": {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "secret"},
    "web": {
        "AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token",
        "AWS_ROLE_ARN": ARN + "env",
        "AWS_ROLE_SESSION_NAME": "case-env",
    },
    "web-half": {"AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token"},
    "container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/container"},
    "container-token": {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x",
    },
    # EKS Pod Identity.
    "container-token-file": {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "{dir}/token",
    },
    # No proxy leads to the metadata service.
    "container-proxy": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/container", "HTTP_PROXY": "http://127.0.0.1:9"},
    "instance": {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "{url}/"},
    "both-keys-and-web": {
        "AWS_ACCESS_KEY_ID": "AKIAENV",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "{dir}/token",
        "AWS_ROLE_ARN": ARN + "env",
    },
}

# Who names the profile: the provider block, a variable, both variables, or nobody.
NAMED = {
    "block": ({"profile": "chosen"}, {}),
    "block-over-variable": ({"profile": "chosen"}, {"AWS_PROFILE": "base"}),
    "AWS_PROFILE": ({}, {"AWS_PROFILE": "chosen"}),
    "AWS_DEFAULT_PROFILE": ({}, {"AWS_DEFAULT_PROFILE": "chosen"}),
    "variables": ({}, {"AWS_PROFILE": "base", "AWS_DEFAULT_PROFILE": "chosen"}),
    "missing-block": ({"profile": "absent"}, {}),
    "missing-variable": ({}, {"AWS_PROFILE": "absent"}),
    "default": ({}, {}),
}

# Other settings: provider block, environment, entries of the profile.
SETTINGS = {
    "none": ({}, {"AWS_DEFAULT_REGION": "us-west-2"}, ""),
    "region of the block": ({"region": "eu-west-1"}, {"AWS_DEFAULT_REGION": "us-west-2"}, "region = ap-east-1"),
    "AWS_REGION": ({}, {"AWS_REGION": "eu-west-3"}, "region = ap-east-1"),
    "both regions": ({}, {"AWS_REGION": "eu-west-3", "AWS_DEFAULT_REGION": "us-west-2"}, ""),
    "region of the profile": ({}, {}, "region = ap-east-1"),
    "China": ({"region": "cn-north-1"}, {}, ""),
    "GovCloud": ({"region": "us-gov-west-1"}, {}, ""),
    "ISO": ({"region": "us-iso-east-1"}, {}, ""),
    "ISO B": ({"region": "us-isob-east-1"}, {}, ""),
    "ISO E": ({"region": "eu-isoe-west-1"}, {}, ""),
    "ISO F": ({"region": "us-isof-south-1"}, {}, ""),
    "EU sovereign": ({"region": "eusc-de-east-1"}, {}, ""),
    "unknown region": ({"region": "mars-north-1"}, {}, ""),
    "FIPS": ({"use_fips_endpoint": True, "region": "us-east-1"}, {}, ""),
    "FIPS variable": ({"region": "us-east-1"}, {"AWS_USE_FIPS_ENDPOINT": "true"}, ""),
    "FIPS profile": ({"region": "us-gov-east-1"}, {}, "use_fips_endpoint = true"),
    "dual-stack": ({"use_dualstack_endpoint": True, "region": "us-east-1"}, {}, ""),
    "dual-stack variable": ({"region": "eu-west-1"}, {"AWS_USE_DUALSTACK_ENDPOINT": "true"}, ""),
    "both": ({"region": "us-east-1", "use_fips_endpoint": True, "use_dualstack_endpoint": True}, {}, ""),
    "endpoint of the block": ({"region": "us-east-1", "endpoint_url": "{url}"}, {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:7000"}, ""),
    "AWS_ENDPOINT_URL": ({"region": "us-east-1"}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:7000"}, ""),
    "AWS_ENDPOINT_URL_EC2": ({"region": "us-east-1"}, {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:7000", "AWS_ENDPOINT_URL_EC2": "http://127.0.0.1:7002"}, ""),
    "endpoint of the profile": ({"region": "us-east-1"}, {}, "endpoint_url = http://127.0.0.1:7003"),
    "services": ({"region": "us-east-1"}, {}, "services = local"),
    "attempts": ({"region": "us-east-1"}, {"AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "adaptive"}, ""),
    "mode": ({"region": "us-east-1"}, {"AWS_RETRY_MODE": "standard"}, "retry_mode = adaptive"),
    "attempts of the profile": ({"region": "us-east-1"}, {}, "max_attempts = 4\nretry_mode = adaptive"),
    "role of the block": ({"region": "us-east-1", "roles": [{
        "role_arn": ARN + "block", "external_id": "block", "duration": 1800, "session_name": "case-block",
        "policy": '{"Version":"2012-10-17","Statement":[]}', "policy_arns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
        "tags": {"a": "1", "b": "2"}, "transitive_tag_keys": ["a"], "source_identity": "me"}]}, {}, ""),
    "chain of the block": ({"region": "us-east-1", "roles": [
        {"role_arn": ARN + "first"}, {"role_arn": ARN + "second", "external_id": "second"}, {"role_arn": ARN + "third"}]},
        {}, ""),
    "web identity of the block": ({"region": "us-east-1", "web": {
        "role_arn": ARN + "webblock", "session_name": "case-web", "duration": 3600, "token_file": "{dir}/token"}}, {}, ""),
    "web identity and role of the block": ({"region": "us-east-1", "web": {
        "role_arn": ARN + "webblock", "token_file": "{dir}/token"}, "roles": [{"role_arn": ARN + "next"}]}, {}, ""),
    "bundle": ({"region": "us-east-1"}, {"AWS_CA_BUNDLE": "{ca}"}, ""),
    "bundle of the profile": ({"region": "us-east-1"}, {}, "ca_bundle = {ca}"),
}


def cases():
    """Every profile with every environment, and every setting, each named in a way that is drawn by lot."""
    lot = random.Random(18)
    for profile, environment in itertools.product(PROFILES, ENVIRONMENTS):
        named = lot.choice([name for name in NAMED if "missing" not in name])
        file = lot.choice(["config", "credentials"])
        yield profile, environment, named, file, "none"
    for named, environment in itertools.product(NAMED, ENVIRONMENTS):
        yield lot.choice(list(PROFILES)), environment, named, lot.choice(["config", "credentials"]), "none"
    for setting, named in itertools.product(SETTINGS, ["block", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"]):
        yield "keys", lot.choice(["empty", "keys"]), named, "config", setting
    for _ in range(120):
        draw = lambda options: lot.choice(list(options))
        case = draw(PROFILES), draw(ENVIRONMENTS), draw(NAMED), lot.choice(["config", "credentials"]), draw(SETTINGS)
        # The SDK refuses these settings for the custom endpoints of the issuer, and a profile has one region.
        custom = re.search("FIPS|dual-stack|both", case[4]) and re.match("role|sso|web", case[0])
        if not custom and (case[0] != "region" or not SETTINGS[case[4]][2].startswith("region")):
            yield case


def prepare(root, url, ca, n, case):
    """Writes the files of a case. Returns its folder, provider block and environment."""
    profile, environment, named, file, setting = case
    folder = f"{root}/{n}"
    os.makedirs(f"{folder}/.aws/sso/cache")
    name = "chosen" if named in ("block", "block-over-variable", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "variables") \
        else "default"
    block, variables = NAMED[named]
    extra_block, extra_variables, entries = SETTINGS[setting]
    fill = lambda text: text.replace("{dir}", folder).replace("{n}", str(n % 9 + 1)).replace(
        "{name}", name).replace("{url}", url).replace("{ca}", ca)
    section = f"[{name}]\n" if file == "credentials" or name == "default" else f"[profile {name}]\n"
    body = section + PROFILES[profile] + "\n"
    # A credentials file holds keys; the other settings of a profile stay in the configuration file.
    rest = "" if not entries else (f"[default]\n" if name == "default" else f"[profile {name}]\n") + entries + "\n"
    config = COMMON + (body + entries + "\n" if file == "config" else rest)
    for path, text in [
        (".aws/config", config),
        (".aws/credentials", body if file == "credentials" else "[unrelated]\naws_access_key_id = AKIAOTHER\n"),
        ("token", "oidc-token"),
        ("process", '#!/bin/sh\necho \'{"Version":1,"AccessKeyId":"\'$1\'","SecretAccessKey":"secret"}\'\n'),
    ]:
        with open(f"{folder}/{path}", "w", encoding="utf-8") as out:
            out.write(fill(text))
    os.chmod(f"{folder}/process", 0o755)
    for start, expiry in [("https://sso.example/start", FUTURE), ("corp", FUTURE),
                          ("https://expired.example/start", "2020-01-01T00:00:00Z")]:
        token = "sso-token" if expiry == FUTURE else "expired-token"
        cached = {"accessToken": token, "expiresAt": expiry, "startUrl": start, "region": "us-east-1"}
        with open(f"{folder}/.aws/sso/cache/{hashlib.sha1(start.encode()).hexdigest()}.json", "w",
                  encoding="utf-8") as out:
            json.dump(cached, out)
    env = {
        "HOME": folder,
        "PATH": "/usr/bin:/bin",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_STS": url,
        "AWS_ENDPOINT_URL_SSO": url,
    }
    for more in (variables, ENVIRONMENTS[environment], extra_variables):
        env.update({k: fill(v) for k, v in more.items()})
    deep = lambda v: fill(v) if isinstance(v, str) else {k: deep(x) for k, x in v.items()} if isinstance(v, dict) else v
    block = deep({**block, **extra_block})
    return folder, block, env


class AssumeRoleProvider(botocore.credentials.AssumeRoleProvider):
    """The provider of botocore, as the AWS CLI sets it up."""

    # Where a user has entered an MFA code, and the AWS CLI stores the session.
    stored = None

    def __init__(self, *args, **options):
        def prompter(_):
            if self.stored is None:
                raise RuntimeError("prompted for an MFA code")
            return "123456"

        if self.stored is not None:
            options["cache"] = JSONFileCache(self.stored)
        super().__init__(*args, prompter=prompter, **options)


botocore.credentials.AssumeRoleProvider = AssumeRoleProvider


def session_of(block):
    session = botocore.session.Session(profile=block.get("profile"))
    session.register_component("data_loader", LOADER)
    return session


def roles(session, block, region):
    """The credentials of a session, exchanged for those of the roles in the provider block."""
    sts = lambda **keys: session.create_client("sts", region_name=region, **keys)
    names = {
        "role_arn": "RoleArn", "external_id": "ExternalId", "duration": "DurationSeconds", "policy": "Policy",
        "session_name": "RoleSessionName", "transitive_tag_keys": "TransitiveTagKeys",
        "source_identity": "SourceIdentity",
    }

    def request(role):
        sent = {names[name]: value for name, value in role.items() if name in names}
        if "policy_arns" in role:
            sent["PolicyArns"] = [{"arn": arn} for arn in role["policy_arns"]]
        if "tags" in role:
            sent["Tags"] = [{"Key": name, "Value": value} for name, value in sorted(role["tags"].items())]
        return {"RoleSessionName": "default", **sent}

    web = block.get("web")
    if web:
        fixed = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret"}
        with open(web["token_file"], encoding="utf-8") as file:
            answer = sts(**fixed).assume_role_with_web_identity(WebIdentityToken=file.read(), **request(web))
        credentials = resolved(answer)
    else:
        credentials = session.get_credentials()
    for role in block.get("roles", []) if credentials else []:
        frozen = credentials.get_frozen_credentials()
        answer = sts(
            aws_access_key_id=frozen.access_key, aws_secret_access_key=frozen.secret_key,
            aws_session_token=frozen.token).assume_role(**request(role))
        credentials = resolved(answer)
    return credentials


def resolved(answer):
    keys = answer["Credentials"]
    return botocore.credentials.Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])


def ask(folder, block, env, profile):
    """What botocore makes of a case."""
    AssumeRoleProvider.stored = f"{folder}/.aws/cli/cache" if profile == "role-mfa-stored" else None
    os.environ.clear()
    os.environ.update(env)
    cache = f"{folder}/.aws/sso/cache"
    botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR = cache
    botocore.tokens.SSOTokenProvider._SSO_TOKEN_CACHE_DIR = cache
    try:
        session = session_of(block)
        region = block.get("region") or env.get("AWS_REGION") or session.get_config_variable("region")
        fixed = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret"}
        options = {
            name: block[name] for name in ("use_fips_endpoint", "use_dualstack_endpoint") if name in block
        }
        client = lambda service: session.create_client(
            service, region_name=region, endpoint_url=block.get("endpoint_url"), config=Config(**options), **fixed)
        found = {
            "region": region,
            "profile": session.profile or "default",
            "ec2_endpoint": client("ec2").meta.endpoint_url,
            "max_attempts": session.get_config_variable("max_attempts"),
            "adaptive": session.get_config_variable("retry_mode") == "adaptive",
            "ca_bundle": session.get_config_variable("ca_bundle"),
        }
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    try:
        session = session_of(block)
        session.set_config_variable("region", region)
        credentials = roles(session, block, region)
        found["access_key_id"] = credentials.get_frozen_credentials().access_key if credentials else None
        if credentials is None:
            found["why"] = "nothing found"
    except Exception as error:
        found["access_key_id"], found["why"] = None, f"{type(error).__name__}: {error}"
    return found


def main():
    root, ca = sys.argv[1], sys.argv[2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    answers = []
    for n, case in enumerate(cases()):
        folder, block, env = prepare(root, url, ca, n, case)
        answers.append({"case": ", ".join(case), "block": block, "env": env, "botocore": ask(folder, block, env, case[0])})
    print(json.dumps(answers), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
