"""Whatever stands in the files of images, a person is told of it: nothing but a ConfigError leaves the readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model.images.declared import LISTING, SOURCE, loaded, project, refused


@pytest.mark.parametrize(
    "name", [SOURCE, "images/bases.yaml", LISTING, "images/runner/Dockerfile", "images/runner/Dockerfile.dockerignore"]
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    root = project(tmp_path)
    (root / name).write_bytes(b"version: 1\n# \xff\n")
    with refused() as problems:
        loaded(root)
    assert (f"{name}:2", True) in {(each.subject, "UTF-8" in f"{each.rule} {each.fix}") for each in problems}
