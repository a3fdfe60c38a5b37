"""Images built for real, by the builder that the command uses; where no registry is reached, from the stand-in base."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from bench.builds.builders import BUILDAH, Builder, BuildError, Built, local_builder, order
from infra.model.images.pins import load_pins
from infra.model.images.spec import ImageSpec
from tests.images.stand_in_base import can_stand_in, stand_in
from tests.lacking import STRICT, lacking

ROOT = Path(__file__).resolve().parents[2]
SPEC = ImageSpec.model_validate(yaml.safe_load((ROOT / "images/images.yaml").read_text()))
PROJECT = """\
[project]
name = "{name}"
version = "0"
requires-python = ">=3.11"
dependencies = []
[project.optional-dependencies]
tpu = []
[dependency-groups]
test = []
"""
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.11"

[manifest]
members = ["levanter", "marin"]
"""
MEMBER = """
[[package]]
name = "{name}"
version = "0"
source = {{ virtual = "lib/{name}" }}

[package.optional-dependencies]
tpu = []

[package.dev-dependencies]
test = []

[package.metadata]
provides-extras = ["tpu"]

[package.metadata.requires-dev]
test = []
"""

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(local_builder() is None and not STRICT, reason="here is no docker daemon, nor buildah as root"),
]


@pytest.fixture(scope="module")
def builder() -> Builder:
    found = local_builder()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def base(builder: Builder) -> dict[str, str]:
    """The stand-in where buildah builds; docker pulls what is pinned."""
    if builder is not BUILDAH:
        return {}
    if not can_stand_in():
        lacking("mmdebstrap is not here, which makes the stand-in base")
    return {"BASE_IMAGE": stand_in()}


def built(builder: Builder, image: str, base: dict[str, str], **wanted: Path | str) -> Built:
    context, target = wanted.get("context"), wanted.get("target")
    assert not isinstance(context, str)
    stage = str(target) if target else None
    ordered = order(ROOT, SPEC, load_pins(ROOT), SPEC.image(image), context=context, images=base, target=stage)
    return builder.build(ordered, print)


def test_the_controller_is_built_and_passes_its_smoke_test(builder: Builder, base: dict[str, str]) -> None:
    builder.smoke(built(builder, "controller", base), ROOT / "images/controller/smoke.sh")


def test_tpu_ci_is_built_up_to_the_runner(builder: Builder, base: dict[str, str], tmp_path: Path) -> None:
    """From a monorepo of two members without dependencies, so that the test is about the recipe and not the lock."""
    (tmp_path / "pyproject.toml").write_text('[tool.uv.workspace]\nmembers = ["lib/*"]\n')
    (tmp_path / "uv.lock").write_text(LOCK + "".join(MEMBER.format(name=name) for name in ("levanter", "marin")))
    for name in ("levanter", "marin"):
        (tmp_path / "lib" / name).mkdir(parents=True)
        (tmp_path / "lib" / name / "pyproject.toml").write_text(PROJECT.format(name=name))
        (tmp_path / "lib" / name / "secret.py").write_text("never sent to the builder\n")
    image = built(builder, "tpu-ci", base, context=tmp_path, target="assembled")
    with pytest.raises(BuildError) as failed:
        builder.smoke(image, ROOT / "images/tpu-ci/smoke.sh")
    said = re.findall(r"(?m)^smoke test of tpu-ci failed: (.*)$", str(failed.value))
    assert [line for line in said if "dependencies" not in line] == [
        "has GitHub's runner of a stated version",
        "starts: /opt/actions-runner/run.sh",
        "may write /opt/actions-runner",
    ]
