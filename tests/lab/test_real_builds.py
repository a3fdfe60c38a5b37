"""Images built for real, by the builder that the command uses; where no registry is reached, from the stand-in base."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from bench.builds.builders import Buildah, Builder, BuildError, Built, local_builder, order
from bench.registry import serve
from infra.model.images.pins import load_pins
from infra.model.images.spec import ImageSpec
from infra.tools.install import ToolError, need
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
    if not isinstance(builder, Buildah):
        return {}
    if not can_stand_in():
        lacking("mmdebstrap is not here, which makes the stand-in base")
    return {"BASE_IMAGE": stand_in(builder)}


def built(builder: Builder, image: str, base: dict[str, str], **wanted: Path | str) -> Built:
    context, target = wanted.get("context"), wanted.get("target")
    assert not isinstance(context, str)
    stage = str(target) if target else None
    ordered = order(ROOT, SPEC, load_pins(ROOT), SPEC.image(image), context=context, images=base, target=stage)
    return builder.build(ordered)


def test_the_controller_is_built_and_passes_its_smoke_test(
    builder: Builder, base: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    image = built(builder, "controller", base)
    builder.smoke(image, ROOT / "images/controller/smoke.sh")
    with capsys.disabled():
        sys.stdout.write(f"\ncontroller: {image.size_bytes / 1e6:.0f} MB, {image.layers} layers, {image.seconds} s\n")
    assert image.size_bytes < 800e6
    assert image.layers <= 12


def test_a_region_is_sent_the_layers_that_it_lacks(
    builder: Builder, base: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One registry a region, so that nothing can be mounted: an edit of the project sends the project's layer alone."""
    if not isinstance(builder, Buildah):
        lacking("the layout comes from buildah's storage")
    try:
        crane = str(need("crane"))
    except ToolError as error:
        lacking(str(error))
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), checkout], check=True)
    sent: list[list[int]] = []
    with ExitStack() as running:
        regions = [tmp_path / f"region-{number}" for number in range(6)]
        addresses = []
        for region in regions:
            registry = serve(region)
            running.callback(registry.stop)
            addresses.append(registry.address)
        for edit in ("", "# edited\n"):
            with (checkout / "infra/model/names.py").open("a") as file:
                file.write(edit)
            ordered = order(checkout, SPEC, load_pins(ROOT), SPEC.image("controller"), context=None, images=base)
            layout = tmp_path / f"layout-{len(sent)}"
            image = builder.build(ordered)
            subprocess.run([*builder.command, "push", "--quiet", image.tag, f"oci:{layout}:built"], check=True)
            digest = json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]
            before = [stored(region) for region in regions]
            first, *others = (f"{address}/controller@{digest}" for address in addresses)
            subprocess.run([crane, "push", layout, first], check=True, capture_output=True)
            for other in others:
                subprocess.run([crane, "copy", first, other], check=True, capture_output=True)
            sent.append([stored(region) - held for region, held in zip(regions, before, strict=True)])
    with capsys.disabled():
        sys.stdout.write(f"\nbytes that each region was sent, first and after an edit: {sent}\n")
    assert all(len(set(each)) == 1 for each in sent), "regions differ"
    assert 0 < sent[1][0] < sent[0][0] / 20


def stored(registry: Path) -> int:
    return sum(path.stat().st_size for path in (registry / "blobs").rglob("*") if path.is_file())


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


def monorepo(folder: Path, *extras: str) -> Path:
    """Two members without dependencies, each with these extras."""
    lines = "".join(f"{each} = []\n" for each in extras)
    listed = ", ".join(f'"{each}"' for each in extras)
    (folder / "pyproject.toml").write_text('[tool.uv.workspace]\nmembers = ["lib/*"]\n')
    lock = LOCK + "".join(MEMBER.format(name=name) for name in ("levanter", "marin"))
    (folder / "uv.lock").write_text(lock.replace("tpu = []\n", lines).replace('["tpu"]', f"[{listed}]"))
    for name in ("levanter", "marin"):
        (folder / "lib" / name).mkdir(parents=True)
        (folder / "lib" / name / "pyproject.toml").write_text(PROJECT.format(name=name).replace("tpu = []\n", lines))
    return folder


def missing(builder: Builder, image: Built, name: str) -> list[str]:
    """What the image's smoke test says that does not hold, but for packages, of which this monorepo has none."""
    with pytest.raises(BuildError) as failed:
        builder.smoke(image, ROOT / f"images/{name}/smoke.sh")
    said = re.findall(rf"(?m)^smoke test of {name} failed: (.*)$", str(failed.value))
    return [line for line in said if not re.search("imports|libtpu", line)]
