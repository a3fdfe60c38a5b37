"""gcloud with endpoint overrides: the commands a person types against the local cloud."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

import pytest

from bench.tests.cloud.cloud_clients import ask

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
    "TPU": "/",
}


@pytest.fixture
def gcloud(tool, ticking_cloud, tmp_path):
    """Run gcloud with an empty configuration and a token that is no secret; its standard output comes back."""
    program = tool("gcloud")
    token = tmp_path / "token"
    token.write_text("local\n")
    environment = {
        **os.environ,
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": ticking_cloud.url + base for api, base in BASES.items()},
        "CLOUDSDK_CONFIG": str(tmp_path / "config"),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
    }

    def run(command: str) -> str:
        done = subprocess.run(
            [program, *shlex.split(command)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    return run


PARENT = f"projects/{PROJECT}/locations/us-central1"
TOPIC = f"projects/{PROJECT}/topics/listed"
CLUSTER = {
    "name": "train", "initialNodeCount": 1, "locations": ["us-central2-b"],
    "nodeConfig": {"machineType": "n2-standard-4"},
}  # fmt: skip
FILES = {
    "up": "from gcloud\n", "clear": "open sesame", "blob": "x" * 1_000_000,
    "build.yaml": "steps: [{name: debian, args: [echo, $_SAID]}]\n",
}  # fmt: skip
MADE = {
    "triggers and jobs": [
        ("PUT", f"/v1/{TOPIC}", {}),
        ("POST", f"/v1/{PARENT}/triggers", {
            "name": "listed", "pubsubConfig": {"topic": TOPIC}, "build": {"steps": [{"name": "x"}]}}),
        ("POST", f"/v1/{PARENT}/jobs", {
            "name": f"{PARENT}/jobs/listed", "schedule": "0 3 * * *", "pubsubTarget": {
                "topicName": TOPIC, "attributes": {"image": "tpu-ci"}}}),
    ],
    "clusters": [("POST", f"/container/v1/projects/{PROJECT}/locations/us-central2/clusters", {"cluster": CLUSTER})],
}  # fmt: skip
"""What is there before gcloud comes: calls of the API."""
WALKS = {
    "VMs": [
        (("compute tpus tpu-vm create vm-0 --zone=us-west4-a --spot --accelerator-type=v5litepod-4 "
          "--version=tpu-ubuntu2204-base"), ""),
        ("compute tpus tpu-vm list --zone=us-west4-a --filter=state=READY --page-size=1 --format=value(name)", "vm-0$"),
        ("compute tpus tpu-vm list --zone=- --format=value(state)", "^READY$"),
        ("compute tpus tpu-vm update vm-0 --zone=us-west4-a --update-labels=tier=b", ""),
        ("compute tpus tpu-vm describe vm-0 --zone=us-west4-a --format=value(labels)", "^tier=b$"),
        ("compute tpus tpu-vm delete vm-0 --zone=us-west4-a", ""),
        ("compute tpus tpu-vm list --zone=- --format=value(state)", "^$"),
    ],
    "secrets": [
        ("secrets create other --replication-policy=automatic", ""),
        ("secrets create life --replication-policy=automatic --labels=team=a", ""),
        ("secrets list '--filter=name:life AND labels.team=a' --format=value(name.basename())", "^life\n$"),
        ("secrets update life --update-labels=tier=b", ""),
        ("secrets describe life --format=value(labels)", "^team=a;tier=b$"),
        (("secrets add-iam-policy-binding life --member=group:lab@example.org "
         "--role=roles/secretmanager.secretAccessor --format=value(bindings.members)"), "group:lab@example.org"),
        ("secrets delete life", ""), ("secrets list --format=value(name.basename())", "^other\n$"),
    ],
}  # fmt: skip
HEAVY = {
    "triggers and jobs": [
        ("builds triggers list --region=us-central1 --format=value(pubsubConfig.topic)", f"^{TOPIC}$"),
        ("scheduler jobs list --location=us-central1 --format=value(pubsubTarget.attributes.image)", "^tpu-ci$"),
    ],
    "objects": [
        ("storage buckets create gs://gcloud-lab-objects --location=us-central1", ""),
        ("storage cp up gs://gcloud-lab-objects/up", ""), ("storage cat gs://gcloud-lab-objects/up", "^from gcloud\n$"),
    ],
    "clusters": [
        (("container node-pools create v4-16 --location=us-central2 --cluster=train --machine-type=ct4p-hightpu-4t "
         "--tpu-topology=2x2x2 --num-nodes=2 --spot --node-locations=us-central2-b"), ""),
        ("container clusters list --format=value(name,status,currentNodeCount)", "^train\tRUNNING\t3$"),
    ],
    "large objects and copies on the server": [
        ("storage buckets create gs://gcloud-lab-large --location=us-central1", ""),
        ("storage cp blob gs://gcloud-lab-large/dir/blob", ""),
        ("storage cp gs://gcloud-lab-large/dir/blob gs://gcloud-lab-large/copy", ""),
        ("storage cp gs://gcloud-lab-large/copy back", ""), ("storage cat gs://gcloud-lab-large/copy", "^x{1000000}$"),
        ("storage ls --recursive gs://gcloud-lab-large", "large/copy\n(?s:.*)/dir/blob"),
        ("storage rm --recursive gs://gcloud-lab-large", ""),
    ],
    "a repository and its trigger": [
        ("builds connections create github host --region=us-central1", ""),
        (("builds repositories create levanter --connection=host --region=us-central1 "
         "--remote-uri=https://github.com/stanford-crfm/levanter.git"), ""),
        ((f"builds triggers create github --name=pushed --region=us-central1 --branch-pattern=^main$ "
         f"--repository={PARENT}/connections/host/repositories/levanter --inline-config=build.yaml "
         "--substitutions=_SAID=hello"), ""),
        ("builds triggers run pushed --region=us-central1 --branch=main", ""),
        ("builds list --region=us-central1 --ongoing --format=value(steps[0].args)", "echo;hello"),
        ("builds triggers delete pushed --region=us-central1", ""),
    ],
    "messages by hand and by time": [
        ("pubsub topics create weekly", ""), ("pubsub topics publish weekly --message=hello", ""),
        (("scheduler jobs create pubsub daily '--schedule=0 3 * * *' --topic=weekly --message-body=hello "
         "--location=us-central1"), ""),
        *((f"scheduler jobs {verb} daily --location=us-central1", "") for verb in ("run", "pause")),
        ("scheduler jobs describe daily --location=us-central1 --format=value(state,status)", "^PAUSED\\t$"),
    ],
    "a network with NAT": [
        ("compute networks create net --subnet-mode=custom", ""),
        ("compute networks subnets create sub --network=net --region=us-central1 --range=10.0.0.0/16", ""),
        ("compute routers create router --network=net --region=us-central1", ""),
        (("compute routers nats create nat --router=router --region=us-central1 --auto-allocate-nat-external-ips "
         "--nat-all-subnet-ip-ranges"), ""),
        ("compute routers describe router --region=us-central1 --format=value(nats[].name)", "nat"),
    ],
    "accounts, services and keys": [
        ("iam service-accounts create gcloud-made", ""),
        ((f"projects add-iam-policy-binding {PROJECT} --role=roles/viewer "
         f"--member=serviceAccount:gcloud-made@{PROJECT}.iam.gserviceaccount.com"), "gcloud-made"),
        ("services enable tpu.googleapis.com", ""), ("services list --enabled", r"tpu\.googleapis\.com"),
        ("secrets create stored --replication-policy=automatic --data-file=clear", ""),
        ("secrets versions access latest --secret=stored", "^open sesame$"),
        ("kms keyrings create ring --location=global", ""),
        ("kms keys create key --keyring=ring --location=global --purpose=encryption", ""),
        ("kms encrypt --key=key --keyring=ring --location=global --plaintext-file=clear --ciphertext-file=sealed", ""),
        ("kms decrypt --key=key --keyring=ring --location=global --ciphertext-file=sealed --plaintext-file=-",
         "^open sesame$"),
    ],
}  # fmt: skip
"""Commands in their order, each with a pattern of what it prints."""


@pytest.mark.parametrize("walk", [*WALKS, *(pytest.param(each, marks=pytest.mark.heavy) for each in HEAVY)])
def test_gcloud_walks(gcloud, ticking_cloud, tmp_path, walk):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    for verb, path, body in MADE.get(walk, ()):
        assert ask(ticking_cloud.url, verb, path, body)[0] == 200
    for command, words in {**WALKS, **HEAVY}[walk]:
        assert re.search(words, gcloud(command), re.MULTILINE), command
