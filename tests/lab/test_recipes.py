from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.fleet.google import Api
from infra.model.images.pins import load_pins
from tests.images.recipes import faults

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((ROOT / "images").glob("*/Dockerfile"))
GOOD = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE} AS packages
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,target=/var/cache/apt \\
    apt-get install -y --no-install-recommends \\
        curl \\
        git \\
    && rm -rf /var/log/*
FROM packages AS tools
RUN curl -fsSL -o tool "$TOOL_URL" && sha256sum -c sums
FROM packages
COPY --from=tools /tool /usr/local/bin/tool
USER 1000:1000
LABEL org.opencontainers.image.source="${SOURCE}" \\
    org.opencontainers.image.revision="${REVISION}" \\
    org.opencontainers.image.created="${CREATED}"
"""


OF_PEOPLE = {Api.COMPUTE, Api.LOGS}
"""What commands of people alone ask, on their machines."""


def test_the_controller_keeps_the_documents_of_the_apis_that_the_fleet_speaks() -> None:
    text = (ROOT / "images/controller/Dockerfile").read_text()
    kept = set(re.findall(r"! -name (\S+\.json)", text))
    assert kept == {f"{name}.{version}.json" for name, version in (api.value for api in Api if api not in OF_PEOPLE)}


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_every_recipe_obeys_every_rule(path: Path) -> None:
    assert faults(path.read_text()) == ()


@pytest.mark.parametrize(
    ("was", "becomes", "fault"),
    [
        ("FROM ${BASE_IMAGE} AS", "FROM debian:latest AS", "FROM debian:latest: a base comes by argument"),
        ("ARG BASE_IMAGE", "ARG BASE_IMAGE=debian:12", "ARG BASE_IMAGE=debian:12: a default"),
        (" && sha256sum -c sums", "", "a download without a checksum"),
        ("        curl \\\n        git", "        git \\\n        curl", "packages are not sorted: git curl"),
        ("--mount=type=cache,target=/var/cache/apt ", "", "apt-get install without a cache mount"),
        ("USER 1000:1000", "USER 0:0", "the image does not run as 1000:1000"),
        ("USER 1000:1000\n", "", "the image does not run as 1000:1000"),
        ("        git ", "        sudo ", "sudo is written out"),
        ("USER 1000:1000", "RUN echo 'worker ALL=(ALL) NOPASSWD:ALL' >/etc/x\nUSER 1000:1000", "NOPASSWD is"),
        ("USER 1000:1000", "ENV GITHUB_TOKEN=abc\nUSER 1000:1000", "ENV GITHUB_TOKEN=abc: a secret in a layer"),
        ("USER 1000:1000", "COPY .netrc /root/\nUSER 1000:1000", "COPY .netrc /root/: a secret in a layer"),
        ("USER 1000:1000", "ADD https://x.example/y /y\nUSER 1000:1000", "ADD: a download"),
        ("USER 1000:1000", "ENV UV_CACHE_DIR=/opt/uv/cache\nUSER 1000:1000", "/opt/uv is written out"),
        ("--from=tools", "--from=ghcr.io/astral-sh/uv:latest", "COPY --from=ghcr.io/astral-sh/uv:latest: not a stage"),
        ('revision="${REVISION}"', 'revision="abc"', "no label org.opencontainers.image.revision"),
        ("ARG SOURCE_DATE_EPOCH\n", "", "SOURCE_DATE_EPOCH is not taken"),
        ("USER 1000:1000", "RUN python3 -m pip install x\nUSER 1000:1000", "pip install without hashes"),
        ("USER 1000:1000", "RUN uv sync\nUSER 1000:1000", "uv sync that may change the lock"),
        ("ARG BASE_IMAGE", "# syntax=docker/dockerfile:1\nARG BASE_IMAGE", "a builder without these words"),
    ],
)
def test_a_recipe_that_breaks_a_rule_is_refused_by_name(was: str, becomes: str, fault: str) -> None:
    assert was in GOOD
    assert [each for each in faults(GOOD.replace(was, becomes)) if each.startswith(fault)]


def test_a_recipe_of_one_stage_is_refused() -> None:
    assert "one stage: what builds would ship" in faults("FROM ${BASE_IMAGE}\nUSER 1000:1000\n")


def test_the_runner_is_the_same_in_the_image_and_at_boot() -> None:
    boot = dict(re.findall(r"(?m)^(\w+)=(\S+)$", (ROOT / "infra/fleet/runner/versions.env").read_text()))
    pins = load_pins(ROOT)
    for prefix, name in (("RUNNER", "github-runner"), ("UV", "uv")):
        pinned = pins.download(name)
        assert (pinned.version, pinned.url, pinned.sha256) == tuple(
            boot[f"{prefix}_{field}"] for field in ("VERSION", "URL", "SHA256")
        )
