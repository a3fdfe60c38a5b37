"""What of image builds the ci stack declares, resource by resource, held as a golden plan."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from infra.model.errors import ConfigError
from infra.model.stack import parse_stack
from infra.program.builds import BuildPlan, build_plan, unheard
from infra.program.stack import declare
from tests.program.fake_engine import Built, Registered, build
from tests.program.stacks import ROOT, built, edited, text_of
from tests.synthetic_lab import connected, the_lab

MARIN, TIDEPOOL_REPOSITORY = "marin-community/marin", "marin-community/tidepool"


def unconnected_text() -> str:
    return connected(text_of("ci"), "nobody/at-all")


@cache
def joined() -> Built:
    """The ci stack with both repositories connected; read it, never change it."""
    return built("ci", connected(text_of("ci")))


def planned(text: str) -> BuildPlan:
    plan = build_plan(the_lab(), parse_stack(text, stack="ci", source="ci"))
    assert plan is not None
    return plan


def test_what_waits_for_a_connection_is_told_with_the_next_step_and_stands_in_the_outputs() -> None:
    missing = built("ci", unconnected_text()).outputs["builds"]["unconnected"]
    triggers = sorted(name for names in missing.values() for name in names)
    assert triggers == sorted(each.name for each in joined().of("Trigger") if "push" in each.name)
    said = unheard(planned(unconnected_text()))
    assert f"not connected to {MARIN} and {TIDEPOOL_REPOSITORY}: " in said
    assert f"{len(triggers)} triggers are not declared. " in said
    place, _, anchor = said.rpartition("Next: ")[2].partition("#")
    titles = [line.lstrip("# ") for line in (ROOT / place).read_text().splitlines() if line.startswith("## ")]
    assert anchor in [re.sub(r"[^a-z0-9-]", "", title.lower().replace(" ", "-")) for title in titles]
    assert unheard(planned(connected(text_of("ci")))) == ""


def private(plan: BuildPlan, repository: str) -> BuildPlan:
    """The plan of a lab whose repository nobody reads without a token."""
    connections = tuple(
        each.model_copy(update={"private": each.repository == repository}) for each in plan.settings.connections
    )
    return replace(plan, settings=plan.settings.model_copy(update={"connections": connections}))


def test_what_reads_a_private_repository_is_off_until_it_is_connected() -> None:
    def triggers(text: str) -> list[Registered]:
        plan = private(planned(text), MARIN)
        return build(lambda: declare(plan.config, plan=plan), stack="ci").of("Trigger")

    off = f"{MARIN} is private and not connected, so that no build reads it. Next: docs/first-deploy.md#"
    waiting = triggers(unconnected_text())
    assert {each.name for each in waiting if off in each.inputs["description"]} == {
        "tidepool-ci-cluster-message",
        "tidepool-ci-tpu-ci-message",
    }
    assert all(each.inputs["disabled"] for each in waiting if off in each.inputs["description"])
    assert not [each for each in triggers(connected(text_of("ci"))) if "is private" in each.inputs["description"]]


BUILDS = "  tidepool:builds:\n    region: us-central1\n"
TIDEPOOL = "      - repository: marin-community/tidepool\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (BUILDS, "  tidepool:builds:\n    region: us-west1\n", "six regions"),
        ("    timeout: 4h\n", "    timeout: 25h\n", "up to 24h"),
        ("    timeout: 4h\n", "    timeout: 4\n", "up to 24h"),
        ("    disk_gb: 200\n", "    disk_gb: 5000\n", "more than 4000, the most for a build's disk"),
        ("    machine_type: E2_HIGHCPU_32\n", "    machine_type: e2-highcpu-32\n", "default pool"),
        ("    severity: critical\n", "    severity: bad\n", "a severity of a scan's findings"),
        ("    keep_logs_days: 90\n", "    keep_logs_days: 0\n", "how many days"),
        (TIDEPOOL, TIDEPOOL + "      - repository: Marin-Community/Marin\n", "the repository has a connection already"),
        (TIDEPOOL, TIDEPOOL + "        installation: 7\n", "only one of installation and token is given"),
        (
            TIDEPOOL,
            TIDEPOOL + "        token_secret: token/versions/1\n",
            "only one of installation and token is given",
        ),
        (TIDEPOOL, TIDEPOOL + "        installation: 7\n        token_secret: token/versions/latest\n", "never latest"),
        (TIDEPOOL, TIDEPOOL + "        token: secret\n", "no such key"),
        (TIDEPOOL, TIDEPOOL + "        private: maybe\n", "neither true nor false"),
    ],
)
def test_a_mistake_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_stack(edited("ci", (old, new)), stack="ci", source="ci")


STRANGER = "      - repository: stranger/other\n"


@pytest.mark.parametrize("new", ["", TIDEPOOL + STRANGER, TIDEPOOL.replace("tidepool", "Tidepool")])
def test_connections_are_to_what_images_are_built_from(new: str) -> None:
    config = parse_stack(edited("ci", (TIDEPOOL, new)), stack="ci", source="ci")
    with pytest.raises(ConfigError, match="connection"):
        build_plan(the_lab(), config)
