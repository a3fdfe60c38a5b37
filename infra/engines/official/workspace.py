"""Where the CLI works: its project folder, its environment, and the stack's state.

Owns the copy of the project on which it works for the local cloud (the CLI writes into stack files), the passing copy
of a state on which something is tried that the state itself must not show, the settings that
point the official Google provider at the local cloud, and the environment. Does not own what the CLI is asked to do.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml
from pulumi import automation

from infra.engines.bench import bench
from infra.engines.official.adoption import outputs_alone
from infra.engines.protocol import NOW, CloudName, EngineRequest, passphrase
from infra.model import urns
from infra.model.deployment import checked_deployment
from infra.model.errors import EngineError
from infra.model.stack import load_stack

ENDPOINTS: Final[Mapping[str, str]] = {
    "artifactRegistryCustomEndpoint": "v1/",
    "billingBudgetsCustomEndpoint": "v1/",
    "cloudBuildCustomEndpoint": "v1/",
    "cloudRunV2CustomEndpoint": "v2/",
    "cloudSchedulerCustomEndpoint": "v1/",
    "cloudbuildv2CustomEndpoint": "v2/",
    "computeCustomEndpoint": "compute/beta/",
    "containerCustomEndpoint": "container/v1beta1/",
    "firestoreCustomEndpoint": "v1/",
    "iamBetaCustomEndpoint": "v1/",
    "kmsCustomEndpoint": "v1/",
    "loggingCustomEndpoint": "v2/",
    "monitoringCustomEndpoint": "",
    "pubsubCustomEndpoint": "v1/",
    "redisCustomEndpoint": "v1beta1/",
    "resourceManagerCustomEndpoint": "v1/",
    "secretManagerCustomEndpoint": "v1/",
    "serviceUsageCustomEndpoint": "v1beta1/",
    "storageCustomEndpoint": "storage/v1/",
    "tpuV2CustomEndpoint": "v2alpha1/",
}
"""Base paths below the local cloud's root. The provider replaces its whole base, version included; its hand-written
clients cut the last part off and put their own version back, so each keeps one; Cloud Monitoring's has none, as its
clients add theirs. Seen with pulumi-gcp 9.35, 2026-11."""

LOCAL_TOKEN: Final = "local-cloud"  # noqa: S105 - opens nothing but the local cloud
LOCAL_SETTINGS: Final[Mapping[str, Any]] = {
    "accessToken": LOCAL_TOKEN,
    "batching": {"enableBatching": False, "sendAfter": "0s"},
    "pollInterval": "1s",
    "skipRegionValidation": True,
}
"""`gcp:` settings besides the endpoints: a token that only the local cloud takes, and no waiting for its answers."""

GOOGLE_CREDENTIAL_VARIABLES: Final = (
    "GCLOUD_KEYFILE_JSON",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_KEYFILE_JSON",
    "GOOGLE_CREDENTIALS",
    "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
)
"""Emptied for the local cloud, where GOOGLE_OAUTH_ACCESS_TOKEN is one that Google refuses: whatever a provider might
be told to do there by mistake, it could do nothing on Google."""

_LOCAL_PROGRAMS: Final = Path(__file__).with_name("local")
"""Programs that the CLI's plugins find on PATH before all others on the local cloud: GKE's for a cluster's token, which
would ask Google for one."""

_ENCRYPTION_KEYS = ("secretsprovider", "encryptedkey", "encryptionsalt")
_OWN_COPIES = frozenset({"Pulumi.yaml", "stacks", ".git"})


class Workspace(automation.LocalWorkspace):
    """An automation workspace whose new stacks do not become the user's selected one."""

    def create_stack(self, stack_name: str) -> None:
        provider = ["--secrets-provider", self.secrets_provider] if self.secrets_provider else []
        self._run_pulumi_cmd_sync(["stack", "init", stack_name, "--no-select", *provider])

    def ask(self, *args: str) -> str:
        """What one CLI command prints."""
        return self._run_pulumi_cmd_sync(list(args)).stdout

    def exported(self, stack_name: str) -> dict[str, Any]:
        """The stack's state, its secrets as ciphertext; the Automation API's own export has them in clear."""
        exported = json.loads(self.ask("stack", "export", "--stack", stack_name))
        fix = f"import an older version: `pulumi stack export --version N`, then `pulumi stack import`, of {stack_name}"
        checked_deployment(exported.get("deployment"), f"the state of stack {stack_name}", fix)
        return exported

    def load(self, stack_name: str, exported: Mapping[str, Any]) -> None:
        """Put an exported state in the place of the stack's own."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(exported, file)
            file.flush()
            self.ask("stack", "import", "--file", file.name, "--stack", stack_name)


class Stack(automation.Stack):
    """An automation stack that is only named: it selects nothing before an operation and asks for nothing after one.

    The Automation API would make it the user's selected stack, and read all outputs, secrets in clear, and the history.
    """

    def __init__(self, name: str, workspace: Workspace) -> None:
        self.name = name
        self.workspace = workspace

    def outputs(self) -> automation.OutputMap:
        return {}

    def info(self, show_secrets: bool = True) -> automation.UpdateSummary:
        del show_secrets
        no_time = datetime.fromtimestamp(0, UTC)
        return automation.UpdateSummary(
            kind="update", start_time=no_time, message="", environment={}, config={}, result="succeeded"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLocation:
    """Where a stack's state is, and what opens its secrets.

    backend: URL of the state's backend; None for the one that the CLI is logged in to.
    passphrase: of the state's secrets, where they are under one.
    """

    backend: str | None
    passphrase: str

    @property
    def in_files(self) -> bool:
        """Whether it is a folder of this machine."""
        return self.backend is not None and self.backend.startswith("file://")


def provider_inputs(request: EngineRequest) -> dict[str, str]:
    """What a default gcp provider in the state must say, in the form in which the CLI keeps settings; {} on Google."""
    if request.cloud_url is None:
        return {}
    settings = endpoint_settings(request.cloud_url)
    return {
        key.removeprefix("gcp:"): value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for key, value in settings.items()
    }


def place_of(request: EngineRequest, environ: Mapping[str, str]) -> StateLocation:
    """PULUMI_BACKEND_URL wins; else the CLI's own login on Google, and a folder of this machine for the local cloud.

    Raises EngineError for the local cloud with a shared backend: its state would take the place of the real one's.
    """
    url = environ.get("PULUMI_BACKEND_URL") or None
    if request.cloud is CloudName.GOOGLE:
        return StateLocation(backend=url, passphrase=passphrase(request.home, environ))
    if url is not None and not url.startswith("file://"):
        raise EngineError(
            f"PULUMI_BACKEND_URL is {url}, a backend that others share; the local cloud's state would mix with theirs. "
            "Unset it, or name a file:// backend, for --cloud local"
        )
    own = request.home / "state" / request.cloud.value
    if url is None:
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
    return StateLocation(backend=url or f"file://{own}", passphrase=passphrase(request.home, environ))


@contextmanager
def workspace(request: EngineRequest, place: StateLocation, runner: automation.PulumiCommand) -> Generator[Workspace]:
    """The workspace of a request: the checkout itself on Google Cloud, a passing copy of it for the local cloud."""
    if request.cloud is CloudName.GOOGLE:
        yield _workspace(request.root, request, place, runner)
        return
    with project_copy(request, salt=_salt(request, place)) as folder:
        yield _workspace(folder, request, place, runner)


def _salt(request: EngineRequest, place: StateLocation) -> str | None:
    """The passphrase salt of a state in files, None where there is none."""
    if not place.in_files:
        return None
    return bench().passphrase_salt(place.backend, request.stack)


@contextmanager
def scratch(request: EngineRequest, place: StateLocation, runner: automation.PulumiCommand) -> Generator[Workspace]:
    """A passing copy with a passing backend, in which a preview can have a stack without making any state."""
    with project_copy(request, salt=None) as folder, tempfile.TemporaryDirectory(dir=folder.parent) as backend:
        passing = StateLocation(backend=f"file://{backend}", passphrase=place.passphrase)
        yield _workspace(folder, request, passing, runner)


Exported = Callable[[str], Mapping[str, Any] | None]
"""A stack's state, as it is exported; None where it has none."""


@contextmanager
def passing_copy(
    request: EngineRequest,
    place: StateLocation,
    runner: automation.PulumiCommand,
    state: Mapping[str, Any] | None,
    exported: Exported,
) -> Generator[Workspace]:
    """A workspace that holds the stack with this state, None for none; what is done in it is forgotten."""
    with scratch(request, place, runner) as work:
        _lend_registries(work, request, exported)
        work.create_stack(request.stack)
        if state is not None:
            work.load(request.stack, state)
        yield work


def _lend_registries(work: Workspace, request: EngineRequest, exported: Exported) -> None:
    """EngineError for a stack that is not deployed, because the CLI only says `unknown stack`."""
    owner = load_stack(request.root, request.stack).registry_stack
    if owner is None:
        return
    lent = exported(owner)
    if lent is None:
        raise EngineError(urns.undeployed(owner))
    work.create_stack(owner)
    work.load(owner, outputs_alone(lent))


@contextmanager
def project_copy(request: EngineRequest, *, salt: str | None) -> Generator[Path]:
    """A passing copy of the checkout's project: own Pulumi.yaml and stack files, links to the rest.

    salt: the `encryptionsalt` of the stack's state, None where there is no state yet.
    """
    below = request.home / "work"
    below.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(tempfile.mkdtemp(prefix=f"{request.stack}-", dir=below))
    try:
        shutil.copy(request.root / "Pulumi.yaml", folder)
        shutil.copytree(request.root / "stacks", folder / "stacks")
        for entry in request.root.iterdir():
            if entry.name not in _OWN_COPIES and entry != request.home:
                (folder / entry.name).symlink_to(entry)
        _settle_stack_file(folder / "stacks" / f"Pulumi.{request.stack}.yaml", request.cloud_url, salt)
        yield folder
    finally:
        shutil.rmtree(folder)


def endpoint_settings(cloud_url: str) -> dict[str, Any]:
    """The `gcp:` settings that make the official provider speak to the local cloud alone."""
    root = cloud_url.rstrip("/")
    endpoints = {key: f"{root}/{base}" for key, base in ENDPOINTS.items()}
    return {f"gcp:{key}": value for key, value in {**LOCAL_SETTINGS, **endpoints}.items()}


def _settle_stack_file(path: Path, cloud_url: str | None, salt: str | None) -> None:
    settings = yaml.safe_load(path.read_text())
    for key in _ENCRYPTION_KEYS:
        settings.pop(key, None)
    if cloud_url is not None:
        settings["config"] |= endpoint_settings(cloud_url)
    if salt is not None:
        settings["encryptionsalt"] = salt
    path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))


def _workspace(
    folder: Path, request: EngineRequest, place: StateLocation, runner: automation.PulumiCommand
) -> Workspace:
    environment = {"PULUMI_CONFIG_PASSPHRASE": place.passphrase}
    if request.now is not None:
        environment[NOW] = request.now.isoformat()
    if place.backend is not None:
        environment["PULUMI_BACKEND_URL"] = place.backend
    if request.cloud is CloudName.LOCAL:
        environment |= dict.fromkeys(GOOGLE_CREDENTIAL_VARIABLES, "")
        environment["GOOGLE_OAUTH_ACCESS_TOKEN"] = LOCAL_TOKEN
        environment["PATH"] = os.pathsep.join(filter(None, (str(_LOCAL_PROGRAMS), os.environ.get("PATH"))))
    return Workspace(work_dir=os.fspath(folder), env_vars=environment, pulumi_command=runner)
