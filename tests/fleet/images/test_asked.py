"""What builds were last asked for, as the fleet bucket keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from infra.fleet.images.builds import read_asked, write_asked
from infra.model import bucket_names
from infra.model.errors import ConfigError
from tests.fleet.images.worlds import World


def test_what_is_written_is_read_again_and_nothing_is_not_the_empty_one() -> None:
    bucket = World().bucket
    assert read_asked(bucket, "ci") is None
    write_asked(bucket, "ci", {"tpu-ci": "1", "controller": ""})
    assert read_asked(bucket, "ci") == {"tpu-ci": "1", "controller": ""}


@pytest.mark.parametrize("body", [{"version": 2, "steps": {}}, {"version": 1}, {"version": 1, "steps": ["tpu-ci"]}])
def test_what_cannot_be_read_is_refused_with_its_name(body: dict[str, Any]) -> None:
    bucket = World().bucket
    bucket.objects[bucket_names.builds_object("ci")] = body
    with pytest.raises(ConfigError, match=r"control/ci/builds\.json"):
        read_asked(bucket, "ci")
