"""gcloud with endpoint overrides: the commands a person types against the local cloud."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from googleapiclient.http import MediaInMemoryUpload

from bench.tests.services.gke import Gke

PROJECT = "gcloud-lab"
BASES = {
    "ARTIFACTREGISTRY": "/",
    "CLOUDBUILD": "/",
    "CLOUDKMS": "/",
    "CLOUDRESOURCEMANAGER": "/",
    "CLOUDSCHEDULER": "/",
    "COMPUTE": "/compute/v1/",
    "CONTAINER": "/container/",
    "IAM": "/",
    "PUBSUB": "/",
    "SECRETMANAGER": "/",
    "SERVICEUSAGE": "/",
    "STORAGE": "/storage/v1/",
}


@pytest.fixture
def gcloud(tool, google, tmp_path):
    """Run gcloud with an empty configuration and a token that is no secret; its standard output comes back."""
    program = tool("gcloud")
    token = tmp_path / "token"
    token.write_text("local\n")
    environment = {
        **os.environ,
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": google.url + base for api, base in BASES.items()},
        "CLOUDSDK_CONFIG": str(tmp_path / "config"),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
    }

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [program, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.heavy
def test_gcloud_lists_triggers_and_jobs(gcloud, client):
    parent, topic = f"projects/{PROJECT}/locations/us-central1", f"projects/{PROJECT}/topics/listed"
    client("pubsub").projects().topics().create(name=topic, body={}).execute()
    body = {"name": "listed", "pubsubConfig": {"topic": topic}, "build": {"steps": [{"name": "x"}]}}
    client("cloudbuild").projects().locations().triggers().create(parent=parent, body=body).execute()
    target = {"topicName": topic, "attributes": {"image": "tpu-ci"}}
    job = {"name": f"{parent}/jobs/listed", "schedule": "0 3 * * *", "timeZone": "Etc/UTC", "pubsubTarget": target}
    client("cloudscheduler").projects().locations().jobs().create(parent=parent, body=job).execute()
    (trigger,) = json.loads(gcloud("builds", "triggers", "list", "--region=us-central1", "--format=json"))
    assert trigger["pubsubConfig"]["topic"] == topic
    (shown,) = json.loads(gcloud("scheduler", "jobs", "list", "--location=us-central1", "--format=json"))
    assert shown["pubsubTarget"] == target


def test_gcloud_walks_the_life_of_a_secret(gcloud, client, refused):
    secrets = client("secretmanager").projects().secrets()
    body = {"replication": {"automatic": {}}}
    secrets.create(parent=f"projects/{PROJECT}", secretId="other", body=body).execute()
    gcloud("secrets", "create", "life", "--replication-policy=automatic", "--labels=team=a")
    listed = json.loads(gcloud("secrets", "list", "--filter=name:life AND labels.team=a", "--format=json"))
    assert [each["name"].rpartition("/")[2] for each in listed] == ["life"]
    gcloud("secrets", "update", "life", "--update-labels=tier=b")
    grant = ("--member=group:lab@example.org", "--role=roles/secretmanager.secretAccessor")
    gcloud("secrets", "add-iam-policy-binding", "life", *grant)
    name = f"projects/{PROJECT}/secrets/life"
    assert secrets.get(name=name).execute()["labels"] == {"team": "a", "tier": "b"}
    assert secrets.getIamPolicy(resource=name).execute()["bindings"][0]["members"] == ["group:lab@example.org"]
    gcloud("secrets", "delete", "life")
    refused(404, secrets.get(name=name))


@pytest.mark.heavy
def test_gcloud_storage_writes_and_reads_objects(gcloud, client, tmp_path):
    storage = client("storage")
    storage.buckets().insert(project=PROJECT, body={"name": "gcloud-lab-objects"}).execute()
    (tmp_path / "up").write_text("from gcloud\n")
    gcloud("storage", "cp", tmp_path / "up", "gs://gcloud-lab-objects/up")
    assert storage.objects().get_media(bucket="gcloud-lab-objects", object="up").execute() == b"from gcloud\n"
    media = MediaInMemoryUpload(b"from the client\n")
    storage.objects().insert(bucket="gcloud-lab-objects", name="down", media_body=media).execute()
    assert gcloud("storage", "cat", "gs://gcloud-lab-objects/down") == "from the client\n"


@pytest.mark.heavy
def test_gcloud_makes_and_removes_buckets_with_objects(gcloud, tmp_path):
    """A copy is made on the server."""
    blob = tmp_path / "blob"
    blob.write_bytes(bytes(range(250)) * 4_000)
    gcloud("storage", "buckets", "create", "gs://gcloud-lab-large", "--location=us-central1")
    gcloud("storage", "cp", blob, "gs://gcloud-lab-large/dir/blob")
    gcloud("storage", "cp", "gs://gcloud-lab-large/dir/blob", "gs://gcloud-lab-large/copy")
    gcloud("storage", "cp", "gs://gcloud-lab-large/copy", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == blob.read_bytes()
    assert gcloud("storage", "ls", "--recursive", "gs://gcloud-lab-large").split() == [
        "gs://gcloud-lab-large/:",
        "gs://gcloud-lab-large/copy",
        "gs://gcloud-lab-large/dir/:",
        "gs://gcloud-lab-large/dir/blob",
    ]
    gcloud("storage", "rm", "--recursive", "gs://gcloud-lab-large")


@pytest.mark.heavy
def test_gcloud_connects_a_repository_and_runs_its_trigger(gcloud, tmp_path):
    where = "--region=us-central1"
    repository = f"projects/{PROJECT}/locations/us-central1/connections/host/repositories/levanter"
    config = tmp_path / "build.yaml"
    config.write_text("steps: [{name: debian, args: [echo, $_SAID]}]\n")
    gcloud("builds", "connections", "create", "github", "host", where)
    uri = "--remote-uri=https://github.com/stanford-crfm/levanter.git"
    gcloud("builds", "repositories", "create", "levanter", "--connection=host", where, uri)
    gcloud(
        "builds", "triggers", "create", "github", "--name=pushed", where, f"--repository={repository}",
        "--branch-pattern=^main$", f"--inline-config={config}", "--substitutions=_SAID=hello",
    )  # fmt: skip
    gcloud("builds", "triggers", "run", "pushed", where, "--branch=main")
    (build,) = json.loads(gcloud("builds", "list", where, "--ongoing", "--format=json"))
    assert build["steps"][0]["args"] == ["echo", "hello"]
    gcloud("builds", "cancel", build["id"], where)
    gcloud("builds", "triggers", "delete", "pushed", where)


@pytest.mark.heavy
def test_gcloud_publishes_by_hand_and_by_time(gcloud):
    gcloud("pubsub", "topics", "create", "weekly")
    gcloud("pubsub", "topics", "publish", "weekly", "--message=hello")
    job = ("--schedule=0 3 * * *", "--topic=weekly", "--message-body=hello", "--location=us-central1")
    gcloud("scheduler", "jobs", "create", "pubsub", "daily", *job)
    gcloud("scheduler", "jobs", "run", "daily", "--location=us-central1")
    gcloud("scheduler", "jobs", "pause", "daily", "--location=us-central1")
    shown = json.loads(gcloud("scheduler", "jobs", "describe", "daily", "--location=us-central1", "--format=json"))
    assert shown["state"] == "PAUSED"
    assert "status" not in shown


@pytest.mark.heavy
def test_gcloud_builds_a_network_with_nat(gcloud):
    gcloud("compute", "networks", "create", "net", "--subnet-mode=custom")
    where = "--region=us-central1"
    gcloud("compute", "networks", "subnets", "create", "sub", "--network=net", where, "--range=10.0.0.0/16")
    gcloud("compute", "routers", "create", "router", "--network=net", where)
    nat = ("--auto-allocate-nat-external-ips", "--nat-all-subnet-ip-ranges")
    gcloud("compute", "routers", "nats", "create", "nat", "--router=router", where, *nat)
    shown = json.loads(gcloud("compute", "routers", "describe", "router", where, "--format=json"))
    assert [each["name"] for each in shown["nats"]] == ["nat"]


@pytest.mark.heavy
def test_gcloud_grants_enables_stores_and_encrypts(gcloud, tmp_path):
    gcloud("iam", "service-accounts", "create", "gcloud-made")
    member = f"--member=serviceAccount:gcloud-made@{PROJECT}.iam.gserviceaccount.com"
    gcloud("projects", "add-iam-policy-binding", PROJECT, member, "--role=roles/viewer")
    gcloud("services", "enable", "tpu.googleapis.com")
    assert "tpu.googleapis.com" in gcloud("services", "list", "--enabled")
    clear, sealed = tmp_path / "clear", tmp_path / "sealed"
    clear.write_text("open sesame")
    gcloud("secrets", "create", "stored", "--replication-policy=automatic", f"--data-file={clear}")
    assert gcloud("secrets", "versions", "access", "latest", "--secret=stored") == "open sesame"
    key = ("--keyring=ring", "--location=global")
    gcloud("kms", "keyrings", "create", "ring", "--location=global")
    gcloud("kms", "keys", "create", "key", *key, "--purpose=encryption")
    gcloud("kms", "encrypt", "--key=key", *key, f"--plaintext-file={clear}", f"--ciphertext-file={sealed}")
    opened = gcloud("kms", "decrypt", "--key=key", *key, f"--ciphertext-file={sealed}", "--plaintext-file=-")
    assert opened == "open sesame"


@pytest.mark.heavy
def test_gcloud_makes_a_slice_and_lists_clusters(gcloud, client, google, settled):
    """gcloud says the topology of a slice and no kind of placement."""
    gke = Gke(client, google, settled, PROJECT, "us-central2")
    gke.create(zones=["us-central2-b"])
    where = ("--location=us-central2", "--cluster=train")
    machine = ("--machine-type=ct4p-hightpu-4t", "--tpu-topology=2x2x2", "--num-nodes=2", "--spot")
    gcloud("container", "node-pools", "create", "v4-16", *where, *machine, "--node-locations=us-central2-b")
    assert gke.nodes("v4-16") == 2
    (shown,) = json.loads(gcloud("container", "clusters", "list", "--format=json"))
    assert (shown["name"], shown["status"], shown["currentNodeCount"]) == ("train", "RUNNING", 3)
