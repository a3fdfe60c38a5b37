"""Which engine works, and against which cloud.

Owns the rule as a pure function of what the machine has, the reading of the machine, and making the engine. Nothing
here starts a process or opens a connection, so that the choice costs no time.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.engines.bench import bench
from infra.engines.protocol import CloudName, Engine, EngineName, EngineRequest

CLI_PAGE = "https://www.pulumi.com/docs/install/"
CREDENTIAL_VARIABLES = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN")
MACHINE_KIND = Path("/sys/class/dmi/id/product_name")


class ChoiceError(Exception):
    """The engine and cloud asked for cannot be had together, or not on this machine (exit code 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What matters for the choice of all that is installed here. None means absent.

    pulumi: path of the pulumi CLI.
    plugin: where the CLI has or gets its Google provider plugin from.
    credentials: where Google's credentials come from.
    backend: where the CLI keeps state, after `pulumi login` or from PULUMI_BACKEND_URL.
    """

    pulumi: str | None = None
    plugin: str | None = None
    credentials: str | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudChoice:
    """Which cloud was chosen, and why in a few words."""

    cloud: CloudName
    reason: str

    def __str__(self) -> str:
        return f"on {self.cloud_name}: {self.reason}"

    @property
    def cloud_name(self) -> str:
        return self.cloud.said


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(CloudChoice):
    """Which engine works on it as well."""

    engine: EngineName

    def __str__(self) -> str:
        engine = "the pulumi CLI" if self.engine is EngineName.PULUMI else "the embedded engine"
        return f"{engine} on {self.cloud_name}: {self.reason}"


def choose(machine: Machine, engine: EngineName | None = None, cloud: CloudName | None = None) -> Choice:
    """The engine and cloud for this machine; None leaves that half to the machine.

    Raises ChoiceError for the embedded engine on Google Cloud, which it must never touch, for what is lacking here, and
    for the local cloud that nobody asked for where there are Google's credentials.
    """
    if engine is EngineName.LOCAL:
        if cloud is CloudName.GOOGLE:
            raise ChoiceError(
                "the embedded engine works only on the local cloud, not with --engine local --cloud google; "
                "use --engine pulumi for Google Cloud, or --cloud local"
            )
        return Choice(engine=engine, cloud=CloudName.LOCAL, reason="asked for with --engine local")
    if cloud is CloudName.GOOGLE:
        _require_cli(machine, "--cloud google")
        _require_google(machine)
        asked = "asked for with --engine pulumi --cloud google" if engine else "asked for with --cloud google"
        return Choice(engine=EngineName.PULUMI, cloud=cloud, reason=asked)
    if engine is EngineName.PULUMI:
        _require_cli(machine, "--engine pulumi")
        if cloud is CloudName.LOCAL:
            return Choice(engine=engine, cloud=cloud, reason="asked for with --engine pulumi --cloud local")
        return _cloud_for_cli(machine)
    if cloud is CloudName.LOCAL:
        return Choice(engine=EngineName.LOCAL, cloud=cloud, reason="asked for with --cloud local")
    lacking = _lacking(machine)
    if lacking:
        _refuse_unasked(machine, lacking)
        return Choice(engine=EngineName.LOCAL, cloud=CloudName.LOCAL, reason=lacking)
    reason = f"the pulumi CLI is here, with {machine.credentials} and state in {machine.backend}"
    return Choice(engine=EngineName.PULUMI, cloud=CloudName.GOOGLE, reason=reason)


def _cloud_for_cli(machine: Machine) -> Choice:
    lacking = _lacking(machine)
    if lacking:
        _refuse_unasked(machine, lacking)
        return Choice(
            engine=EngineName.PULUMI, cloud=CloudName.LOCAL, reason=f"asked for with --engine pulumi; {lacking}"
        )
    reason = f"asked for with --engine pulumi; Google is reached with {machine.credentials}"
    return Choice(engine=EngineName.PULUMI, cloud=CloudName.GOOGLE, reason=reason)


def choose_cloud(machine: Machine, cloud: CloudName | None = None) -> CloudChoice:
    """The cloud for what needs neither engine nor state: Google's where there are credentials for it.

    Raises ChoiceError for Google Cloud without credentials.
    """
    if cloud is CloudName.GOOGLE:
        _require_credentials(machine)
    if cloud is not None:
        return CloudChoice(cloud=cloud, reason=f"asked for with --cloud {cloud}")
    if machine.credentials is None:
        return CloudChoice(cloud=CloudName.LOCAL, reason="there are no Google credentials")
    return CloudChoice(cloud=CloudName.GOOGLE, reason=f"there is {machine.credentials}")


def _refuse_unasked(machine: Machine, lacking: str) -> None:
    """Whoever has Google's credentials may mean the real fleet: they are not shown another one unasked."""
    if machine.credentials is not None:
        raise ChoiceError(
            f"there are Google credentials ({machine.credentials}), but {lacking}: mend that as docs/first-deploy.md "
            "says, or add --cloud local for the local cloud of this machine"
        )


def _lacking(machine: Machine) -> str:
    """The first thing that keeps this machine from working on Google Cloud; empty where nothing does."""
    if machine.pulumi is None:
        return "the pulumi CLI is not on PATH"
    if machine.plugin is None:
        return "the pulumi CLI has no gcp plugin and may not fetch one"
    if machine.credentials is None:
        return "there are no Google credentials"
    if machine.backend is None:
        return "the pulumi CLI is not logged in to a backend"
    return ""


def _require_cli(machine: Machine, asked: str) -> None:
    if machine.pulumi is None:
        raise ChoiceError(f"{asked} needs the pulumi CLI, which is not on PATH; get it from {CLI_PAGE}")
    if machine.plugin is None:
        raise ChoiceError(
            f"{asked} needs the CLI's gcp plugin, which is not installed and may not be fetched "
            "(PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION is set); run `pulumi plugin install resource gcp`"
        )


def _require_credentials(machine: Machine) -> None:
    if machine.credentials is None:
        raise ChoiceError(
            "--cloud google needs Google credentials; run `gcloud auth application-default login`, "
            f"or set {CREDENTIAL_VARIABLES[0]}; or try it on the local cloud by --cloud local"
        )


def _require_google(machine: Machine) -> None:
    _require_credentials(machine)
    if machine.backend is None:
        raise ChoiceError(
            "--cloud google needs a backend for the state; run `pulumi login gs://BUCKET` "
            "(`./tidepool bootstrap` makes the bucket), or set PULUMI_BACKEND_URL"
        )


def observe(
    environ: Mapping[str, str] = os.environ,
    which: Callable[[str], str | None] = shutil.which,
    *,
    kind: Path = MACHINE_KIND,
) -> Machine:
    """What this machine has, from its environment and a few files."""
    user = Path(environ.get("HOME") or Path.home())
    pulumi_home = Path(environ.get("PULUMI_HOME") or user / ".pulumi")
    return Machine(
        pulumi=which("pulumi"),
        plugin=_plugin(environ, which, pulumi_home),
        credentials=_credentials(environ, user, kind),
        backend=_backend(environ, pulumi_home),
    )


def _plugin(environ: Mapping[str, str], which: Callable[[str], str | None], pulumi_home: Path) -> str | None:
    if (on_path := which("pulumi-resource-gcp")) is not None:
        return on_path
    installed = sorted((pulumi_home / "plugins").glob("resource-gcp-v*[0-9]"))
    if installed:
        return str(installed[-1])
    if environ.get("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "").lower() in {"1", "true"}:
        return None
    return "fetched by the pulumi CLI"


def _credentials(environ: Mapping[str, str], user: Path, kind: Path) -> str | None:
    for variable in CREDENTIAL_VARIABLES:
        if environ.get(variable):
            return variable
    gcloud = Path(environ.get("CLOUDSDK_CONFIG") or user / ".config" / "gcloud")
    if (gcloud / "application_default_credentials.json").is_file():
        return "application default credentials"
    try:
        on_google = kind.read_text().strip() == "Google Compute Engine"
    except OSError:
        return None
    return "this VM's service account" if on_google else None


def _backend(environ: Mapping[str, str], pulumi_home: Path) -> str | None:
    if url := environ.get("PULUMI_BACKEND_URL"):
        return url
    try:
        return json.loads((pulumi_home / "credentials.json").read_text()).get("current") or None
    except (OSError, ValueError, AttributeError):
        return None


def make_engine(name: EngineName, request: EngineRequest) -> Engine:
    """The engine of that name for this request. Imports that one alone: each costs its start-up time."""
    if name is EngineName.PULUMI:
        from infra.engines.official import OfficialEngine

        return OfficialEngine(request)
    return bench().engine(request)
