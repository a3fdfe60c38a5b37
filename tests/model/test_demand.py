"""Reading `workflows/demand.yaml`, and what the list says by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from infra.model.demand import FILE, Demands, load_demands, read_demands
from infra.model.errors import ConfigError
from tests.model.demanding import asking, demand
from tests.synthetic_lab import the_lab


def refused(content: bytes) -> str:
    with pytest.raises(ConfigError) as error:
        read_demands(content)
    return str(error.value)


def test_what_is_written_is_read_again() -> None:
    demands = asking(demand(), demand("ubuntu-24.04", job="train", vm="train", max_parallel=2, image="ghcr.io/lab/a"))
    assert read_demands(yaml.safe_dump(demands.to_plain()).encode()) == demands


def test_a_checkout_without_the_file_asks_nothing_that_is_known(tmp_path: Path) -> None:
    assert load_demands(tmp_path) is None


def test_the_committed_list_can_be_read() -> None:
    assert isinstance(load_demands(the_lab()), Demands)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"- 1\n", "one mapping"),
        (b"version: 2\ncache: {images: /a, start_up: /a}\n", "version"),
        (b"version: 1\n", "cache"),
        (b"version: 1\ncache: {images: /a, start_up: /a}\ndemand: []\n", "demand"),
        (b"version: 1\ncache: {images: /a, start_up: /a}\ndemands: [{file: 1}]\n", "demands[0].file"),
        (b"\xff", "UTF-8"),
    ],
)
def test_what_is_no_list_of_demands_is_refused_with_what_makes_one(content: bytes, said: str) -> None:
    assert said in refused(content)
    assert FILE in refused(content)


def test_labels_that_workflows_use_are_told_with_their_files() -> None:
    hosted = demand("ubuntu-24.04", job="train", vm="train")
    demands = asking(demand("self-hosted", "TPU-CI"), demand("tpu-v4", file="b.yaml", job="b"), hosted)
    assert demands.labels_used() == {"tpu-ci": (".github/workflows/tests.yaml",), "tpu-v4": ("b.yaml",)}
