"""The diffs of docs/never.md: an engine refuses them, and the list leaves none of them out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.providers.google import GoogleProvider
from bench.providers.google.tables import TYPES
from infra.model.plan import Plan
from infra.model.stack_text import pulumi_values
from tests.program.stacks import ROOT, edited, lab_program, text_of, unedited

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

NEVER = (ROOT / "docs" / "never.md").read_text(encoding="utf-8")
PROJECT = "hai-gcp-models"
KEPT = ("gcp:artifactregistry/repository:Repository", "gcp:secretmanager/secret:Secret", "gcp:storage/bucket:Bucket")

SECRETS = text_of("ci")[text_of("ci").index("  tidepool:secrets:") :]
FORBIDDEN = {
    "a repository under another name": ("    - name: ghcr-mirror\n", "    - name: quay-mirror\n"),
    "a region without its repositories": ("      - us-east5\n", ""),
    "a bucket of another name": ("name: hai-gcp-models-tidepool-ci", "name: hai-gcp-models-tidepool-new"),
    "a bucket in another place": ("    location: us-central1\n", "    location: us-west4\n"),
    "a mirror of another upstream": ("upstream: https://ghcr.io", "upstream: https://quay.io"),
    "a stack without its secrets": (SECRETS, ""),
    "another project": ("gcp:project: hai-gcp-models", "gcp:project: another-lab"),
}


class Applied:
    """The ci stack, applied to a cloud of its own, and what a further text would do to it."""

    def __init__(self, root: Path, cloud: TestCloud) -> None:
        self._root, self._cloud = root, cloud

    def engine(self, text: str) -> Engine:
        values = pulumi_values(text)
        google = GoogleProvider(self._cloud.url, values["gcp:project"])
        backend = Backend(self._root)
        return Engine(backend, "tidepool", "ci", values, lab_program, {"gcp": google}, lambda: "a passphrase", "local")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    from bench.cloud.testing import running_cloud

    with running_cloud(ticking=0.5) as cloud:
        world = Applied(tmp_path_factory.mktemp("state"), cloud)
        assert not world.engine(text_of("ci")).up().failed
        yield world


def refusals(plan: Plan) -> str:
    return "\n".join([*(step.error or "" for step in plan.steps), *(said.message for said in plan.diagnostics)])


@pytest.mark.parametrize("edit", FORBIDDEN.values(), ids=FORBIDDEN)
def test_an_engine_refuses_it_already_in_the_preview(applied: Applied, edit: tuple[str, str]) -> None:
    plan = applied.engine(edited("ci", edit)).preview()
    assert plan.failed
    assert "protect" in refusals(plan)


def test_what_an_engine_refused_is_still_there_afterwards(applied: Applied) -> None:
    forbidden = applied.engine(edited("ci", FORBIDDEN["a stack without its secrets"])).up()
    assert forbidden.failed
    again = applied.engine(text_of("ci")).preview()
    assert not again.failed
    assert {step.op for step in again.steps} == {"same"}


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)


def replacing(token: str) -> set[str]:
    return {name for name, field in TYPES[token].fields.items() if field.replaces}


@pytest.mark.parametrize("token", KEPT)
def test_the_list_names_every_input_whose_change_loses_something(token: str) -> None:
    kind = f"{token.split(':')[1].split('/')[0]}.{token.split(':')[-1]}"
    rows = "\n".join(line for line in NEVER.splitlines() if f"`{kind}`" in line)
    written: set[str] = set()
    for resource in unedited("ci").custom:
        if resource.type == token:
            written |= resource.inputs.keys()
    unnamed = {snake(name) for name in written & replacing(token)} - set(re.findall(r"`([a-z_]+)`", rows))
    assert not unnamed, f"docs/never.md does not name {sorted(unnamed)} of {kind}"


def test_the_list_names_only_what_the_provider_knows() -> None:
    known: Mapping[str, Any] = {
        f"{t.split(':')[1].split('/')[0]}.{t.split(':')[-1]}": kind for t, kind in TYPES.items()
    }
    for kind in re.findall(r"`([a-z]+\.[A-Z][A-Za-z]+)`", NEVER):
        assert kind in known or kind in ("compute.Firewall", "projects.IAMMember"), kind


def test_a_repositorys_form_is_written_so_that_no_default_can_move_it() -> None:
    for repository in unedited("ci").of("artifactregistry/repository:Repository"):
        assert repository.inputs["format"] == "DOCKER"
        remote = "remoteRepositoryConfig" in repository.inputs
        assert repository.inputs["mode"] == ("REMOTE_REPOSITORY" if remote else "STANDARD_REPOSITORY")
        assert "description" not in repository.inputs.get("remoteRepositoryConfig", {})
