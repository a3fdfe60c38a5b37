"""The folder, the state and the environment with which the CLI works."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from bench import filestate
from bench.providers.google.tables import TYPES
from infra.engines.official.workspace import (
    ENDPOINTS,
    StateLocation,
    place_of,
    project_copy,
    workspace,
)
from infra.engines.protocol import CloudName, EngineRequest
from infra.model.errors import EngineError
from tests.engines.official.replay import Answer, ScriptedCli, document, says

URL = "http://127.0.0.1:8123"
STACK_FILE = """\
# What this stack is for.
config:
  gcp:project: hai-gcp-models
  tidepool:pools:
    - name: tpu-ci
      zones: {us-west4-a: 2}
secretsprovider: gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k
encryptedkey: c2VjcmV0
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    (root / "stacks" / "Pulumi.ci.yaml").write_text(STACK_FILE)
    (root / "Pulumi.yaml").write_text("name: tidepool\nruntime: python\n")
    (root / "infra").mkdir()
    (root / "infra" / "__main__.py").write_text("")
    (root / ".git").mkdir()
    return root


def request(root: Path, cloud: CloudName = CloudName.LOCAL) -> EngineRequest:
    url = URL if cloud is CloudName.LOCAL else None
    return EngineRequest(root=root, home=root / ".tidepool", stack="ci", cloud=cloud, cloud_url=url)


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".tidepool" not in path.parts
    }


def test_the_cli_may_write_into_the_copy_and_the_checkout_stays_as_it_was(checkout: Path) -> None:
    before = files(checkout)
    with project_copy(request(checkout), salt=None) as folder:
        for name in ("Pulumi.yaml", "stacks/Pulumi.ci.yaml", "stacks/Pulumi.other.yaml"):
            (folder / name).write_text("written by the CLI")
    assert files(checkout) == before
    assert list((checkout / ".tidepool" / "work").iterdir()) == []


def test_the_copy_points_the_provider_at_the_local_cloud_and_is_encrypted_with_the_states_key(checkout: Path) -> None:
    with project_copy(request(checkout), salt="v1:abc") as folder:
        settings = yaml.safe_load((folder / "stacks" / "Pulumi.ci.yaml").read_text())
    declared = yaml.safe_load(STACK_FILE)["config"]
    assert {key: settings["config"][key] for key in declared} == declared
    assert settings["config"]["gcp:tpuV2CustomEndpoint"] == f"{URL}/v2alpha1/"
    assert settings["encryptionsalt"] == "v1:abc"
    assert "secretsprovider" not in settings
    assert "encryptedkey" not in settings


def test_every_service_that_is_declared_has_an_endpoint() -> None:
    """One by one, since the provider's names for them follow no rule."""
    of = {
        "artifactregistry": "artifactRegistry", "billing": "billingBudgets", "cloudbuild": "cloudBuild",
        "cloudbuildv2": "cloudbuildv2", "cloudrunv2": "cloudRunV2", "cloudscheduler": "cloudScheduler",
        "compute": "compute", "container": "container", "firestore": "firestore",
        "iam": "iamBeta", "logging": "logging", "monitoring": "monitoring",
        "projects": "resourceManager", "pubsub": "pubsub", "redis": "redis", "secretmanager": "secretManager",
        "serviceaccount": "iamBeta", "storage": "storage",
        "tpu": "tpuV2",
    }  # fmt: skip
    modules = {token.split(":")[1].partition("/")[0] for token in TYPES}
    assert modules == of.keys()
    assert {f"{of[module]}CustomEndpoint" for module in modules} <= ENDPOINTS.keys()


def asked(of: EngineRequest, backend: str | None) -> ScriptedCli:
    """A CLI that was asked who works with it."""
    cli = ScriptedCli({"whoami": [says(Answer())]})
    with workspace(of, StateLocation(backend=backend, passphrase="words"), cli) as work:
        work.ask("whoami")
    return cli


def test_no_google_credentials_reach_the_provider_on_the_local_cloud(checkout: Path) -> None:
    cli = asked(request(checkout), "file:///nowhere")
    assert cli.environment["GOOGLE_APPLICATION_CREDENTIALS"] == ""
    assert cli.environment["GOOGLE_OAUTH_ACCESS_TOKEN"] == "local-cloud"
    assert cli.environment["PULUMI_BACKEND_URL"] == "file:///nowhere"


def test_clusters_of_the_local_cloud_are_asked_with_a_token_that_is_not_googles(checkout: Path) -> None:
    """A kubeconfig of GKE names its plugin, which the CLI's provider starts by name."""
    cli = asked(request(checkout), "file:///nowhere")
    found = shutil.which("gke-gcloud-auth-plugin", path=cli.environment["PATH"])
    assert found is not None
    said = json.loads(subprocess.run([found], check=True, capture_output=True, text=True).stdout)
    assert (said["kind"], said["status"]) == ("ExecCredential", {"token": "local"})


def test_on_google_the_cli_works_in_the_checkout_with_the_users_credentials(checkout: Path) -> None:
    cli = asked(request(checkout, CloudName.GOOGLE), None)
    assert cli.folders == [str(checkout)]
    assert "PULUMI_BACKEND_URL" not in cli.environment
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in cli.environment


@pytest.mark.parametrize(
    ("cloud", "users", "backend"),
    [
        (CloudName.LOCAL, "file:///state", "file:///state"),
        (CloudName.LOCAL, None, "file://{}/.tidepool/state/local"),
        (CloudName.GOOGLE, None, None),
        (CloudName.GOOGLE, "gs://s", "gs://s"),
    ],
)
def test_the_users_backend_wins_and_the_local_cloud_has_a_state_of_its_own(
    checkout: Path, cloud: CloudName, users: str | None, backend: str | None
) -> None:
    environ = {"PULUMI_BACKEND_URL": users} if users else {}
    assert place_of(request(checkout, cloud), environ).backend == (backend and backend.format(checkout))


def test_a_shared_backend_is_refused_for_the_local_cloud(checkout: Path) -> None:
    with pytest.raises(EngineError, match="gs://lab-state"):
        place_of(request(checkout), {"PULUMI_BACKEND_URL": "gs://lab-state"})


def stack_files(root: Path) -> Path:
    folder = root / ".pulumi" / "stacks" / "tidepool"
    folder.mkdir(parents=True)
    return folder


def test_an_attribute_file_that_a_kill_left_empty_is_removed(tmp_path: Path) -> None:
    folder = stack_files(tmp_path)
    (folder / "ci.json.attrs").write_text("")
    (folder / "ci.json.bak.attrs").write_text('{"md5":"a"}')
    said = filestate.readable(f"file://{tmp_path}", "ci", "words", {})
    assert sorted(path.name for path in folder.iterdir()) == ["ci.json.bak.attrs"]
    assert [each.message for each in said] == ["removed ci.json.attrs, an empty file that a killed run left"]


SETTINGS = {"tpuV2CustomEndpoint": f"{URL}/v2alpha1/"}


def test_providers_in_the_state_are_pointed_at_this_runs_cloud_and_nothing_in_flight_is_lost(tmp_path: Path) -> None:
    latest = document("killed.json")["deployment"]
    path = stack_files(tmp_path) / "ci.json"
    path.write_text(json.dumps({"version": 3, "checkpoint": {"stack": "ci", "latest": latest}}))
    before = path.read_bytes()
    filestate.readable(f"file://{tmp_path}", "ci", "words", {})
    assert path.read_bytes() == before, "a state for Google"
    filestate.readable(f"file://{tmp_path}", "ci", "words", SETTINGS)
    after = json.loads(path.read_text())["checkpoint"]["latest"]
    (provider,) = [each for each in after["resources"] if each["type"] == "pulumi:providers:gcp"]
    assert provider["inputs"]["tpuV2CustomEndpoint"] == provider["outputs"]["tpuV2CustomEndpoint"] == f"{URL}/v2alpha1/"
    assert provider["inputs"]["project"] == "hai-gcp-models"
    assert after["pending_operations"] == latest["pending_operations"]
    written = path.stat().st_mtime_ns
    filestate.readable(f"file://{tmp_path}", "ci", "words", SETTINGS)
    assert path.stat().st_mtime_ns == written
