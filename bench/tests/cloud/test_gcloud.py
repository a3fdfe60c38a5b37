"""gcloud, pointed at the local cloud by an endpoint override, works as against Google's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import NODE, ZONE, ask

GCloud = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def gcloud(ticking_cloud: TestCloud, tool: Callable[[str], str], tmp_path: Path) -> GCloud:
    program = tool("gcloud")
    token = tmp_path / "token"
    token.write_text("any")
    environment = {
        **os.environ,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{ticking_cloud.url}/",
        "CLOUDSDK_CONFIG": str(tmp_path),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_CORE_PROJECT": "lab",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [program, "compute", "tpus", *words, "--format=json"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    return run


def test_gcloud_walks_the_life_of_a_vm(gcloud: GCloud, ticking_cloud: TestCloud) -> None:
    made = gcloud(
        *("tpu-vm", "create", "vm-0", "--zone=us-west4-a"),
        *("--accelerator-type=v5litepod-4", "--version=tpu-ubuntu2204-base", "--spot"),
    )
    assert made.returncode == 0, made.stderr
    listed = gcloud("tpu-vm", "list", "--zone=us-west4-a", "--filter=state=READY", "--page-size=1")
    assert [(node["name"], node["state"]) for node in json.loads(listed.stdout)] == [(f"{ZONE}/nodes/vm-0", "READY")]
    ask(ticking_cloud.url, "PATCH", f"/v2/{ZONE}/nodes/vm-0?updateMask=labels", {"labels": {"team": "a"}})
    changed = gcloud("tpu-vm", "update", "vm-0", "--zone=us-west4-a", "--update-labels=tier=b")
    assert changed.returncode == 0, changed.stderr
    labels = ask(ticking_cloud.url, "GET", f"/v2/{ZONE}/nodes/vm-0")[1]["labels"]
    assert labels == {"team": "a", "tier": "b"}
    gone = gcloud("tpu-vm", "delete", "vm-0", "--zone=us-west4-a")
    assert gone.returncode == 0, gone.stderr
    assert ticking_cloud.control.nodes() == []


@pytest.mark.heavy
def test_gcloud_lists_every_zone_and_reads_errors(gcloud: GCloud, ticking_cloud: TestCloud) -> None:
    for zone in ("us-west4-a", "us-east1-c"):
        ask(ticking_cloud.url, "POST", f"/v2/projects/lab/locations/{zone}/nodes?nodeId=vm-0", NODE)
    assert len(json.loads(gcloud("tpu-vm", "list", "--zone=-").stdout)) == 2
    taken = gcloud(
        *("tpu-vm", "create", "vm-0", "--zone=us-west4-a"),
        *("--accelerator-type=v5litepod-4", "--version=tpu-ubuntu2204-base"),
    )
    assert (taken.returncode, "ALREADY_EXISTS" in taken.stderr) == (1, True)
    missing = gcloud("tpu-vm", "describe", "nobody", "--zone=us-west4-a")
    assert (missing.returncode, "NOT_FOUND" in missing.stderr) == (1, True)
