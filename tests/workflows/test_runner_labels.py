"""actionlint's list of labels: what runners that serve a repository may have, and nothing that it knows by itself."""

from __future__ import annotations

from dataclasses import replace

import yaml

from tests.model.demanding import LAB, fleet, member
from tests.synthetic_lab import the_lab
from workflows.outputs import LABELS, label_file, runner_labels
from workflows.world import World, load_world


def world(pools: str = "") -> World:
    return replace(load_world(the_lab()), stacks={"ci": fleet(pools)})


def test_every_label_of_pools_that_serve_the_repository_is_listed_once() -> None:
    pools = member(name="big", labels="[tpu, self-hosted]") + member(name="theirs", serves="[lab/other]")
    assert runner_labels(LAB, world(pools)) == ("big", "tpu", "tpu-ci")
    assert runner_labels("Lab/Other", world(pools)) == ("theirs",)


def test_the_file_is_what_actionlint_reads() -> None:
    (text,) = label_file(LAB, world()).values()
    assert yaml.safe_load(text) == {"self-hosted-runner": {"labels": ["tpu", "tpu-ci"]}}
    assert text.startswith("# Generated from the pools of the stacks")
    assert list(label_file(LAB, world())) == [LABELS]
