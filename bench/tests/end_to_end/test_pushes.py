"""A push to a source repository starts just the builds that `images plan` names, on the triggers that `up ci` made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.control import Control
from bench.cloud.testing import running_cloud
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from bench.tests.end_to_end.fleet_world import complaints, engine_of
from infra.model.images.load import load_images
from infra.model.images.rebuilds import Change, rebuilds
from infra.model.images.spec import Builder
from infra.model.stack import load_stack
from infra.model.stack_text import pulumi_values, stack_names
from tests.program.stacks import lab_program
from tests.synthetic_lab import connected, steady, the_lab

pytestmark = pytest.mark.usefixtures("cheap_keys")

MARIN = "marin-community/marin"
TIDEPOOL = "marin-community/tidepool"


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    """A cloud with the whole ci stack, connected to its sources; its clock moves, for waits."""
    with running_cloud(ticking=0.5) as cloud:
        values = pulumi_values(connected(steady("ci")), source="ci")
        engine = engine_of(tmp_path_factory.mktemp("ci"), "ci", values, lab_program, GoogleProvider(cloud.url))
        assert complaints(engine.up(Options(previewed=True))) == []
        yield Control(cloud.url)


@pytest.fixture(scope="module")
def declared():
    stacks = {name: load_stack(the_lab(), name) for name in stack_names(the_lab())}
    return load_images(the_lab(), stacks), stacks


@pytest.mark.parametrize(
    ("repository", "path", "expected"),
    [
        (MARIN, "uv.lock", {"tpu-ci", "cluster"}),
        (MARIN, "lib/levanter/pyproject.toml", {"tpu-ci", "cluster"}),
        (MARIN, "lib/levanter/src/levanter/main.py", set()),
        (MARIN, "README.md", set()),
        (TIDEPOOL, "images/tpu-ci/Dockerfile", {"tpu-ci"}),
        (TIDEPOOL, "images/steps/lib.sh", {"tpu-ci", "cluster", "controller"}),
        (TIDEPOOL, "infra/fleet/service.py", {"controller"}),
        (TIDEPOOL, "infra/program/stack.py", set()),
        (TIDEPOOL, "stacks/Pulumi.ci.yaml", set()),
        (TIDEPOOL, "images/levanter-base/Dockerfile", set()),
        (TIDEPOOL, "docs/images.md", set()),
    ],
)
def test_a_push_starts_the_builds_that_the_plan_names(control, declared, repository, path, expected):
    built = {
        tag.removeprefix("image-")
        for build in control.push(repository, [path], branch="main")["builds"]
        for tag in build["tags"]
        if tag.startswith("image-")
    }
    assert built == expected
    spec, stacks = declared
    planned = rebuilds(spec, [Change(repository, path)], stacks)
    assert built == {each.image for each in planned if each.builder is Builder.CLOUDBUILD}


def test_a_week_brings_every_scheduled_build(control):
    before = len(control.builds())
    control.advance(7 * 24 * 3600)
    names = [build["substitutions"]["TRIGGER_NAME"] for build in control.builds()[before:]]
    assert len(names) == 9, "tpu-ci on seven days, cluster and controller on one"
    assert sum("tpu-ci" in name for name in names) == 7
