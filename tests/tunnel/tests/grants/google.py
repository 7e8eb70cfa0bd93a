"""What google-auth may do in a pod, with nothing but what the environment says. Argument: endpoint. One line for each attempt."""

import sys

import google.auth
from google.auth.transport.requests import AuthorizedSession

credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/devstorage.read_write"])
session = AuthorizedSession(credentials)
for name, path in (
    ("list llm/", "?list-type=2&prefix=llm/"),
    ("list all", "?list-type=2"),
    ("get e", "/llm/e.txt"),
    ("get secret", "/secret/f.txt"),
):
    answer = session.get(f"{sys.argv[1]}/acme-gs{path}")
    print(name, answer.status_code, answer.text if "get" in name and answer.ok else "")
