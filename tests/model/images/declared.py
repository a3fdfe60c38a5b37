"""A small right project for tests of images, and ways to make it wrong in one place."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.model.errors import ConfigError, Problem
from infra.model.images.load import load_images
from infra.model.images.spec import ImageSpec
from infra.model.schema import StackConfig
from tests.model.given import parse, stack_text

SOURCE = "images/images.yaml"
LISTING = "images/listings/lab.code.txt"

IMAGES = """\
version: 1
recipes: lab/tidepool
paths:
  uv_cache: /opt/uv/cache
  uv_environment: /opt/uv/environment
shared: [images/steps/**]
ignored: [images/*/README.md]
images:
  - name: runner
    folder: images/runner
    context:
      repository: lab/code
      paths: [uv.lock, lib/*/pyproject.toml]
    builder: cloudbuild
    bases: {BASE_IMAGE: debian}
    downloads: [uv]
    platforms: [linux/amd64]
    push:
      artifact_registry: {stack: ci, repository: images}
    when:
      push: {branch: main}
      schedule: {cron: "0 3 * * *", time_zone: UTC}
    tags: [latest, "{date}"]
    retention: {delete_older_than: 30d, keep_newest: 16}
    used_by: {stack: ci, pools: [tpu-ci]}
  - name: base
    folder: images/base
    context:
      repository: lab/code
      paths: [uv.lock]
    builder: github
    bases: {BASE_IMAGE: python}
    platforms: [linux/amd64, linux/arm64]
    push: {ghcr: ghcr.io/lab/base}
    when:
      push: {branch: main}
  - name: child
    folder: images/child
    context:
      repository: lab/code
      paths: [lib/**]
    builder: github
    parents: [base]
    platforms: [linux/amd64]
    push: {ghcr: ghcr.io/lab/child}
    when:
      after: Tests
    used_by: {workflows: [Nightly]}
"""

PINS = f"""\
version: 1
bases:
  debian:
    image: docker.io/library/debian
    tag: bookworm-slim
    digest: sha256:{"a" * 64}
    source: https://hub.docker.com/_/debian/tags
    read: 2026-11-21
  python:
    image: docker.io/library/python
    tag: 3.11-slim
    digest: unresolved
    source: https://hub.docker.com/_/python/tags
    read: 2026-11-21
downloads:
  uv:
    version: 0.9.0
    url: https://files.example.org/uv.whl
    sha256: {"b" * 64}
    source: https://pypi.org/project/uv/#files
    read: 2026-11-21
"""

EXCEPTIONS = """\
exceptions:
  - finding: CVE-2026-1234
    package: openssl
    images: [runner]
    reason: Nothing here listens.
    expires: 2026-12-01
  - finding: GHSA-aaaa-bbbb-cccc
    reason: Mended upstream, no release yet.
    expires: 2026-11-30
"""

FILES = {
    "images/images.yaml": IMAGES,
    "images/bases.yaml": PINS,
    "images/steps/build.sh": "#!/bin/sh\n",
    LISTING: "# source: https://github.com/lab/code\n"
    + "".join(f"{path} {'c' * 40}\n" for path in ("uv.lock", "lib/a/pyproject.toml", "lib/a/src/a.py")),
    "images/runner/Dockerfile": "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG UV_URL\nARG UV_SHA256\nARG SHELL_NAME=bash\n",
    "images/runner/Dockerfile.dockerignore": "*\n!uv.lock\n!lib/*/pyproject.toml\n",
    "images/base/Dockerfile": "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG UV_CACHE_DIR\n",
    "images/base/Dockerfile.dockerignore": "*\n!uv.lock\n",
    "images/child/Dockerfile": "ARG PARENT_IMAGE\nFROM ${PARENT_IMAGE}\nARG SOURCE_DATE_EPOCH\n",
    "images/child/Dockerfile.dockerignore": "*\n!lib/**\n",
    **{f"images/{name}/smoke.sh": "#!/bin/sh\n" for name in ("runner", "base", "child")},
}

REGISTRIES = """\
regions: [us-central1, us-west4]
repositories:
  - name: images
    cleanup: {delete_older_than: 30d, keep_newest: 16, keep_tag_prefixes: [in-use-]}
  - name: bare
"""

BUILDS = """\
region: us-west4
machine_type: E2_HIGHCPU_8
disk_gb: 100
timeout: 2h
severity: critical
keep_logs_days: 30
connections: [{repository: lab/code}, {repository: lab/tidepool}]
"""


def stacks(registries: str = REGISTRIES, **sections: str) -> Mapping[str, StackConfig]:
    """The stack `ci` with two repositories in two regions, and `train` without registries."""
    head = {"project: my-lab": "project: my-train", "my-lab-ci": "my-lab-train", "name: tpu-ci": "name: train-v5e"}
    train = stack_text()
    for old, new in head.items():
        train = train.replace(old, new)
    return {
        "ci": parse(stack_text(registries=registries, **({"builds": BUILDS} | sections))),
        "train": parse(train, stack="train"),
    }


def project(root: Path, files: Mapping[str, str | None] | None = None) -> Path:
    """The small project below `root`, with these files in the place of its own; None leaves one out."""
    for path, text in (FILES | dict(files or {})).items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return root


def edited(text: str, *edits: tuple[str, str]) -> str:
    """The text with each first occurrence replaced; what is not there is a mistake of the test."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def loaded(root: Path) -> ImageSpec:
    return load_images(root, stacks())


@contextmanager
def refused() -> Generator[list[Problem]]:
    """The problems of the ConfigError that the block raises, once it has."""
    problems: list[Problem] = []
    with pytest.raises(ConfigError) as error:
        yield problems
    problems += error.value.problems
