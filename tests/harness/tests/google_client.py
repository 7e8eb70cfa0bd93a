"""Creates, lists, changes and deletes with Google's own Python client: an independent reader of the same documents."""

import sys

from google.auth.credentials import AnonymousCredentials
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

ENDPOINT = sys.argv[1]
PROJECT, REGION = "acme-ml", "us-central1"


def client(name, path):
    return build(
        name,
        "v1",
        static_discovery=True,
        cache_discovery=False,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": ENDPOINT + path},
    )


compute = client("compute", "/compute/v1/")
registry = client("artifactregistry", "/")
perimeters = client("accesscontextmanager", "/").accessPolicies().servicePerimeters()


def done(operation):
    """Polls as the client's documentation shows it."""
    while operation["status"] != "DONE":
        if "region" in operation:
            request = compute.regionOperations().get(project=PROJECT, region=REGION, operation=operation["name"])
        else:
            request = compute.globalOperations().get(project=PROJECT, operation=operation["name"])
        operation = request.execute()
    assert "error" not in operation, operation
    return operation


def refused(request, status):
    try:
        answer = request.execute()
    except HttpError as error:
        assert error.status_code == status, error
        return error.reason
    raise AssertionError(f"accepted: {answer}")


def pages(resource, **arguments):
    """All items, by the client's own paging."""
    found, request = [], resource.list(project=PROJECT, **arguments)
    turns = 0
    while request is not None:
        answer = request.execute()
        found += answer.get("items", [])
        request = resource.list_next(request, answer)
        turns += 1
    return found, turns


networks, subnets = compute.networks(), compute.subnetworks()
for name in ("hub", "data", "ml"):
    body = {"name": name, "autoCreateSubnetworks": False, "description": f"warren {name}"}
    done(networks.insert(project=PROJECT, body=body).execute())
network = networks.get(project=PROJECT, network="hub").execute()
for place in range(7):
    body = {"name": f"hub-{place}", "network": network["selfLink"], "ipCidrRange": f"10.0.{place}.0/24"}
    done(subnets.insert(project=PROJECT, region=REGION, body=body).execute())

found, turns = pages(subnets, region=REGION, maxResults=3)
assert [item["name"] for item in found] == [f"hub-{place}" for place in range(7)] and turns == 3, (found, turns)
found, _ = pages(networks, filter='description = "warren ml"')
assert [item["name"] for item in found] == ["ml"], found
found, _ = pages(networks, filter="name eq (hub|data)")
assert len(found) == 2, found

scopes, request = {}, subnets.aggregatedList(project=PROJECT, maxResults=4)
while request is not None:
    answer = request.execute()
    for scope, held in answer["items"].items():
        scopes.setdefault(scope, []).extend(held.get("subnetworks", []))
    request = subnets.aggregatedList_next(request, answer)
assert len(scopes[f"regions/{REGION}"]) == 7 and "regions/europe-west1" in scopes, scopes

first = subnets.get(project=PROJECT, region=REGION, subnetwork="hub-0").execute()
body = {"logConfig": {"enable": True}, "fingerprint": first["fingerprint"]}
patch = subnets.patch(project=PROJECT, region=REGION, subnetwork="hub-0", body=body)
done(patch.execute())
refused(patch, 412)
body = {"name": "clash", "network": network["selfLink"], "ipCidrRange": "10.0.0.128/25"}
refused(subnets.insert(project=PROJECT, region=REGION, body=body), 400)
assert "not found" in refused(networks.get(project=PROJECT, network="none"), 404)

for one, other in (("hub", "data"), ("data", "hub")):
    peering = {
        "name": f"to-{other}",
        "network": f"projects/{PROJECT}/global/networks/{other}",
        "exchangeSubnetRoutes": True,
    }
    done(networks.addPeering(project=PROJECT, network=one, body={"networkPeering": peering}).execute())
peerings = networks.get(project=PROJECT, network="data").execute()["peerings"]
assert peerings[0]["state"] == "ACTIVE", peerings
routes, _ = pages(compute.routes(), filter='network : "networks/data" nextHopPeering = to-hub')
assert len(routes) == 7, routes
for one, other in (("hub", "data"), ("data", "hub")):
    done(networks.removePeering(project=PROJECT, network=one, body={"name": f"to-{other}"}).execute())

repositories = registry.projects().locations().repositories()
parent = f"projects/{PROJECT}/locations/{REGION}"


def ended(operation):
    while not operation.get("done"):
        operation = registry.projects().locations().operations().get(name=operation["name"]).execute()
    assert "error" not in operation, operation
    return operation


operation = ended(
    repositories.create(parent=parent, repositoryId="images", body={"format": "DOCKER"}).execute()
)
assert operation["response"]["name"] == f"{parent}/repositories/images", operation
patched = repositories.patch(
    name=f"{parent}/repositories/images", updateMask="labels", body={"labels": {"fabric": "llm"}}
).execute()
assert patched["labels"] == {"fabric": "llm"}, patched
assert [item["format"] for item in repositories.list(parent=parent).execute()["repositories"]] == ["DOCKER"]
ended(repositories.delete(name=f"{parent}/repositories/images").execute())

policy = "accessPolicies/123"
training = f"{policy}/servicePerimeters/training"
status = {"resources": ["projects/42"], "restrictedServices": ["storage.googleapis.com"]}
body = {"name": training, "title": "Training", "status": status}


def settled(operation):
    while not operation.get("done"):
        operation = client("accesscontextmanager", "/").operations().get(name=operation["name"]).execute()
    assert "error" not in operation, operation
    return operation


assert settled(perimeters.create(parent=policy, body=body).execute())["response"]["name"] == training
found = perimeters.get(name=training).execute()
changed = {"title": "Training runs", "etag": found["etag"]}
settled(perimeters.patch(name=training, updateMask="title", body=changed).execute())
refused(perimeters.patch(name=training, updateMask="title", body=changed), 409)
assert [item["title"] for item in perimeters.list(parent=policy).execute()["servicePerimeters"]] == ["Training runs"]
settled(perimeters.delete(name=training).execute())

secrets = client("secretmanager", "/").projects().secrets()
versions = secrets.versions()
tokens = f"projects/{PROJECT}/secrets/tokens"
secrets.create(parent=f"projects/{PROJECT}", secretId="tokens", body={"replication": {"automatic": {}}}).execute()
for data in ("Zmlyc3Q=", "c2Vjb25k"):
    added = secrets.addVersion(parent=tokens, body={"payload": {"data": data}}).execute()
assert added["name"].endswith("/secrets/tokens/versions/2") and added["state"] == "ENABLED", added
found = secrets.get(name=tokens).execute()
changed = {"annotations": {"note": "second"}, "etag": found["etag"]}
patch = secrets.patch(name=tokens, updateMask="annotations", body=changed)
assert patch.execute()["annotations"] == {"note": "second"}
refused(patch, 400)
versions.destroy(name=f"{tokens}/versions/1", body={}).execute()
refused(versions.access(name=f"{tokens}/versions/1"), 400)
assert versions.access(name=f"{tokens}/versions/latest").execute()["payload"]["data"] == "c2Vjb25k"

accounts = client("iam", "/").projects().serviceAccounts()
body = {"accountId": "gateway", "serviceAccount": {"displayName": "Gateway"}}
account = accounts.create(name=f"projects/{PROJECT}", body=body).execute()
policy = secrets.getIamPolicy(resource=tokens, options_requestedPolicyVersion=3).execute()
member = f"serviceAccount:{account['email']}"
policy["bindings"] = [{"role": "roles/secretmanager.secretAccessor", "members": [member]}]
set_policy = secrets.setIamPolicy(resource=tokens, body={"policy": policy})
assert set_policy.execute()["bindings"][0]["members"] == [member]
refused(set_policy, 409)
accounts.patch(
    name=account["name"], body={"serviceAccount": {"description": "reads"}, "updateMask": "description"}
).execute()
assert accounts.get(name=account["name"]).execute()["description"] == "reads"
accounts.delete(name=account["name"]).execute()
secrets.delete(name=tokens).execute()

for place in range(7):
    done(subnets.delete(project=PROJECT, region=REGION, subnetwork=f"hub-{place}").execute())
for name in ("hub", "data", "ml"):
    done(networks.delete(project=PROJECT, network=name).execute())
