"""Which engine and cloud a machine gets, for everything that can be asked of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from infra.engines.choose import ChoiceError, Machine, choose, choose_cloud, observe
from infra.engines.protocol import CloudName, EngineName

if TYPE_CHECKING:
    from pathlib import Path

FULL = Machine(pulumi="/usr/bin/pulumi", plugin="resource-gcp", credentials="a file", backend="gs://state")
NO_CLI = Machine(plugin="resource-gcp", credentials="a file", backend="gs://state")
BARE = Machine(plugin="fetched by the pulumi CLI")
NO_PLUGIN = Machine(pulumi="/usr/bin/pulumi", credentials="a file", backend="gs://state")
NO_CREDENTIALS = Machine(pulumi="/usr/bin/pulumi", plugin="resource-gcp", backend="gs://state")
NO_BACKEND = Machine(pulumi="/usr/bin/pulumi", plugin="resource-gcp", credentials="a file")

CHOSEN = [
    (BARE, None, None, "local", "local", "the pulumi CLI is not on PATH"),
    (FULL, None, None, "pulumi", "google", "a file"),
    (NO_CREDENTIALS, None, None, "local", "local", "no Google credentials"),
    (FULL, "local", None, "local", "local", "--engine local"),
    (FULL, "local", "local", "local", "local", "--engine local"),
    (FULL, None, "local", "local", "local", "--cloud local"),
    (FULL, "pulumi", None, "pulumi", "google", "a file"),
    (NO_CREDENTIALS, "pulumi", None, "pulumi", "local", "no Google credentials"),
    (NO_CLI, "local", None, "local", "local", "--engine local"),
    (NO_CLI, None, "local", "local", "local", "--cloud local"),
    (NO_CREDENTIALS, "pulumi", "local", "pulumi", "local", "--engine pulumi --cloud local"),
    (FULL, "pulumi", "google", "pulumi", "google", "--engine pulumi --cloud google"),
    (FULL, None, "google", "pulumi", "google", "--cloud google"),
]

REFUSED = [
    (NO_CLI, None, None, "Google credentials (a file), but the pulumi CLI is not on PATH"),
    (NO_PLUGIN, None, None, "no gcp plugin"),
    (NO_BACKEND, None, None, "add --cloud local"),
    (NO_BACKEND, "pulumi", None, "not logged in"),
    (FULL, "local", "google", "the embedded engine works only on the local cloud"),
    (BARE, "pulumi", None, "https://www.pulumi.com/docs/install/"),
    (BARE, "pulumi", "local", "https://www.pulumi.com/docs/install/"),
    (BARE, None, "google", "https://www.pulumi.com/docs/install/"),
    (NO_PLUGIN, "pulumi", None, "pulumi plugin install resource gcp"),
    (NO_CREDENTIALS, None, "google", "gcloud auth application-default login"),
    (NO_BACKEND, "pulumi", "google", "pulumi login gs://BUCKET"),
]


def _asked(engine: str | None, cloud: str | None) -> tuple[EngineName | None, CloudName | None]:
    return (EngineName(engine) if engine else None, CloudName(cloud) if cloud else None)


@pytest.mark.parametrize(("machine", "engine", "cloud", "chosen_engine", "chosen_cloud", "because"), CHOSEN)
def test_the_choice_follows_the_request_and_then_the_machine(
    machine: Machine, engine: str | None, cloud: str | None, chosen_engine: str, chosen_cloud: str, because: str
) -> None:
    choice = choose(machine, *_asked(engine, cloud))
    assert (choice.engine, choice.cloud) == (chosen_engine, chosen_cloud)
    assert because in str(choice)


@pytest.mark.parametrize(("machine", "engine", "cloud", "said"), REFUSED)
def test_what_cannot_be_had_is_refused_with_the_way_to_get_it(
    machine: Machine, engine: str | None, cloud: str | None, said: str
) -> None:
    with pytest.raises(ChoiceError, match=re.escape(said)):
        choose(machine, *_asked(engine, cloud))


@pytest.mark.parametrize("machine", [FULL, NO_CLI, NO_PLUGIN, NO_BACKEND])
def test_what_needs_no_engine_reaches_google_with_credentials_alone(machine: Machine) -> None:
    assert choose_cloud(machine).cloud is CloudName.GOOGLE
    assert choose_cloud(machine, CloudName.LOCAL).cloud is CloudName.LOCAL


def test_what_needs_no_engine_asks_for_credentials_where_google_is_meant() -> None:
    assert choose_cloud(BARE).cloud is CloudName.LOCAL
    with pytest.raises(ChoiceError, match="gcloud auth application-default login"):
        choose_cloud(BARE, CloudName.GOOGLE)


@pytest.mark.parametrize(
    ("environ", "plugin"),
    [({}, "fetched by the pulumi CLI"), ({"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}, None)],
)
def test_an_empty_machine_has_at_most_a_plugin_that_may_be_fetched(
    tmp_path: Path, environ: dict[str, str], plugin: str | None
) -> None:
    machine = observe({"HOME": str(tmp_path), **environ}, lambda _: None, kind=tmp_path / "absent")
    assert machine == Machine(plugin=plugin)


def test_a_full_machine_is_seen_through_its_files(tmp_path: Path) -> None:
    (tmp_path / ".pulumi" / "plugins" / "resource-gcp-v10.2.0").mkdir(parents=True)
    (tmp_path / ".pulumi" / "plugins" / "resource-gcp-v10.2.0.lock").touch()
    (tmp_path / ".pulumi" / "credentials.json").write_text(json.dumps({"current": "gs://state"}))
    (tmp_path / ".config" / "gcloud").mkdir(parents=True)
    (tmp_path / ".config" / "gcloud" / "application_default_credentials.json").write_text("{}")
    machine = observe({"HOME": str(tmp_path)}, {"pulumi": "/usr/bin/pulumi"}.get, kind=tmp_path / "absent")
    assert machine.pulumi == "/usr/bin/pulumi"
    assert machine.plugin is not None
    assert machine.plugin.endswith("resource-gcp-v10.2.0")
    assert machine.credentials == "application default credentials"
    assert machine.backend == "gs://state"


def test_a_vm_of_google_has_its_service_account(tmp_path: Path) -> None:
    kind = tmp_path / "product_name"
    kind.write_text("Google Compute Engine\n")
    assert observe({"HOME": str(tmp_path)}, lambda _: None, kind=kind).credentials == "this VM's service account"


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"current": ""}'])
def test_a_broken_login_file_is_no_login(tmp_path: Path, broken: str) -> None:
    (tmp_path / ".pulumi").mkdir()
    (tmp_path / ".pulumi" / "credentials.json").write_text(broken)
    assert observe({"HOME": str(tmp_path)}, lambda _: None, kind=tmp_path / "absent").backend is None
