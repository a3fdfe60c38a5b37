"""A training stack with queues, teams and what runs for long, by the official CLI and by the embedded engine.

Each engine has a local cloud and a real control plane of Kubernetes of its own; the official one works with both of its
plugins, and its Helm installs charts of the right names and versions (`chart_registry`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.providers.kubernetes.reach import ClusterApi
from bench.tests.kubernetes.chart_registry import chart_registry
from bench.tests.kubernetes.real_control_plane import real_control_plane
from bench.tests.kubernetes.test_training_on_real_cluster import whole
from bench.tests.kubernetes.training_plane import DEFINITIONS, published_definitions
from infra.engines import EngineName
from infra.model.addons import addons
from infra.model.stack import load_stack
from tests.engines.live import acts, rows
from tests.engines.live.live_worlds import World, Yard
from tests.synthetic_lab import lend

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]

STACK = "training"
MORE = ("capacity: spot, buffer: 2, maximum: 3", "capacity: spot, buffer: 2, maximum: 4")


def files(root: Path) -> None:
    lend(root)
    (root / "stacks" / f"Pulumi.{STACK}.yaml").write_text(whole())


@contextmanager
def in_a_real_cluster(world: World) -> Generator[ClusterApi]:
    """Its GKE clusters have a real control plane, which has the definitions that the operators' charts bring."""
    folder = world.folder / "plane"
    folder.mkdir()
    with real_control_plane(folder) as reached:
        api = ClusterApi(json.dumps(kubeconfig(reached)))
        for each in published_definitions():
            api.call("POST", DEFINITIONS, each)
        Control(world.url).tell_control_plane(reached["host"], reached["certificate"])
        registries = replace(world, stack="ci").make(EngineName.LOCAL).up()
        assert not registries.failed, registries.diagnostics
        yield api


def test_both_engines_do_the_same_in_a_real_cluster(
    yard: Yard, tmp_path: Path, tool: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool("pulumi-resource-kubernetes")
    pair = yard.pair(STACK, files)
    with ExitStack() as ends:
        charts = addons(load_stack(pair[0].root, STACK))
        for name, value in ends.enter_context(chart_registry(tmp_path, charts)).items():
            monkeypatch.setenv(name, value)
        for world in pair:
            ends.enter_context(in_a_real_cluster(world))
        theirs, ours = pair

        def both(act: acts.Act, what: str) -> acts.Seen:
            seen = act(theirs)
            rows.assert_same(act(ours), seen, what)
            return seen

        both(acts.preview, "preview from nothing")
        both(acts.up, "up")
        rows.assert_same(acts.state(ours), acts.state(theirs), "the states")
        assert both(acts.preview, "second preview")["steps"] == {}
        for world in pair:
            world.edit(MORE)
        both(acts.preview, "preview of one slice more")
        edited = both(acts.up, "one slice more")
        assert {name.rpartition("::")[2] for name in edited["steps"]} == {
            "ClusterQueue/v4-32", "ct4p-hightpu-4t-2x2x4-b-spot-3",
        }, "one pool, and the quota that follows"  # fmt: skip
        assert both(acts.preview, "preview after it")["steps"] == {}
        rows.assert_same(acts.state(ours), acts.state(theirs), "the states after it")
        for world in pair:
            acts.finds_nothing_to_do(world)
        both(acts.destroy_the_rest, "destroy")
