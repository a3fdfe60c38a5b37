"""What a change of files rebuilds, in build order, and why."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from infra.model.images.load import load_images
from infra.model.images.pins import Pins, load_pins
from infra.model.images.rebuilds import Before, Change, Rebuild, included, rebuilds, trigger_files, trigger_ignores
from infra.model.images.spec import ImageSpec, UsedBy, When
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from tests.synthetic_lab import the_lab

GOLDEN = Path(__file__).parents[1] / "golden" / "rebuilds.txt"
MARIN, TIDEPOOL = "marin-community/marin", "marin-community/tidepool"
FAMILY = ["levanter-base", "levanter-incremental", "levanter-cluster"]
MONOREPO = ["tpu-ci", "cluster", *FAMILY]
ALL = [*MONOREPO, "controller"]


@cache
def lab() -> tuple[ImageSpec, Mapping[str, StackConfig], Pins]:
    """The committed declaration, its stacks and its pins."""
    stacks = {name: load_stack(the_lab(), name) for name in stack_names(the_lab())}
    return load_images(the_lab(), stacks), stacks, load_pins(the_lab())


def after(*changes: str, before: Before | None = None) -> tuple[Rebuild, ...]:
    """What changes such as `uv.lock` of the monorepo and `tidepool:README.md` of this project rebuild."""
    spec, stacks, _ = lab()
    return rebuilds(spec, [_change(text) for text in changes], stacks, before)


def names(*changes: str, before: Before | None = None) -> list[str]:
    return [rebuild.image for rebuild in after(*changes, before=before)]


def _change(text: str) -> Change:
    return Change(TIDEPOOL, text.removeprefix("tidepool:")) if text.startswith("tidepool:") else Change(MARIN, text)


CHANGED = (
    "uv.lock",
    "pyproject.toml",
    "lib/levanter/pyproject.toml",
    "lib/levanter/src/levanter/main/train_lm.py",
    "lib/marin/README.md",
    "lib/levanter/tests/.hidden/test_x.py",
    "README.md",
    "docs/uv.lock",
    "experiments/pyproject.toml",
    "lib/levanter/docs/pyproject.toml",
    "images/tpu-ci/Dockerfile",
    "tidepool:images/tpu-ci/Dockerfile",
    "tidepool:images/tpu-ci/smoke.sh",
    "tidepool:images/tpu-ci/Dockerfile.dockerignore",
    "tidepool:images/tpu-ci/README.md",
    "tidepool:images/levanter-base/Dockerfile",
    "tidepool:images/levanter-cluster/smoke.sh",
    "tidepool:images/levanter-cluster/Dockerfile tidepool:images/cluster/Dockerfile",
    "tidepool:images/levanter-base/smoke.sh tidepool:images/levanter-cluster/smoke.sh",
    "tidepool:images/tpu-ci-old/Dockerfile",
    "tidepool:images/steps/build.sh",
    "tidepool:images/steps/deep/lib.sh",
    "tidepool:images/images.yaml",
    "tidepool:images/bases.yaml",
    "tidepool:images/listings/marin-community.marin.txt",
    "tidepool:.github/workflows/docker-images.yaml",
    ".github/workflows/docker-images.yaml",
    "tidepool:.github/workflows/drift.yaml",
    "tidepool:infra/model/plan.py",
    "tidepool:infra/cli/up.py",
    "tidepool:stacks/Pulumi.ci.yaml",
    "tidepool:requirements-service.lock",
    "tidepool:requirements.lock",
    "tidepool:requirements-dev.lock",
    "tidepool:docs/images.md",
    "tidepool:README.md",
    "tidepool:tests/conftest.py",
    "tidepool:uv.lock",
    "uv.lock tidepool:infra/fleet/service.py",
    "uv.lock uv.lock README.md",
    "",
    "lib/a/pyproject.toml",
    "tidepool:images/levanter-base/smoke.sh",
    "tidepool:images/steps/push.sh",
    "uv.lock pyproject.toml lib/a/pyproject.toml",
    "uv.lock pyproject.toml",
)
"""Files that change at once."""


def test_a_change_rebuilds_what_reads_it_for_a_reason_in_words(update_goldens: bool) -> None:
    told = "".join(
        f"{changes or 'nothing'}\n" + "".join(f"  {each.image}: {each.reason}\n" for each in after(*changes.split()))
        for changes in CHANGED
    )
    if update_goldens:
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_an_image_with_two_parents_says_which_of_them_are_built_anew() -> None:
    spec, stacks, _ = lab()
    spec = _with(spec, "levanter-cluster", parents=("levanter-base", "tpu-ci", "cluster"))
    changes = [Change(TIDEPOOL, "images/levanter-base/smoke.sh"), Change(TIDEPOOL, "images/tpu-ci/smoke.sh")]
    found = {rebuild.image: rebuild.reason for rebuild in rebuilds(spec, changes, stacks)}
    assert found["levanter-cluster"] == "levanter-cluster is built from levanter-base and tpu-ci"


def test_names_of_repositories_differ_in_case_for_nobody() -> None:
    spec, stacks, _ = lab()
    assert rebuilds(spec, [Change("Marin-Community/Marin", "uv.lock")], stacks)


# With both versions of a table, only what uses an edited entry counts.


def _pins(pins: Pins, **digests: str) -> Pins:
    bases = {name: pins.bases[name].model_copy(update={"digest": digest}) for name, digest in digests.items()}
    return pins.model_copy(update={"bases": {**pins.bases, **bases}})


def test_every_edited_pin_of_an_image_is_named() -> None:
    _, _, pins = lab()
    newer = _pins(pins, python=f"sha256:{'1' * 64}", buildkit=f"sha256:{'1' * 64}")
    found = after("tidepool:images/bases.yaml", before=Before(pins=pins, pins_now=newer))
    assert found[0].reason == "images/bases.yaml pins another buildkit and python for tpu-ci"


def test_a_table_of_pins_that_is_known_on_one_side_alone_rebuilds_every_image() -> None:
    _, _, pins = lab()
    for known in (Before(pins=pins), Before(pins_now=pins)):
        assert names("tidepool:images/bases.yaml", before=known) == ALL


@pytest.mark.parametrize("pin", ["buildkit", "docker-cli"])
def test_another_digest_of_what_builds_rebuilds_every_image_and_is_named(pin: str) -> None:
    spec, stacks, pins = lab()
    newer = _pins(pins, **{pin: f"sha256:{'1' * 64}"})
    change = [Change(spec.recipes, "images/bases.yaml")]
    found = rebuilds(spec, change, stacks, Before(pins=pins, pins_now=newer))
    assert [each.image for each in found] == [image.name for image in spec.order()]
    assert {each.reason for each in found} == {
        f"images/bases.yaml pins another {pin} for {image.name}" for image in spec.images
    }


def test_a_comment_in_a_table_rebuilds_nothing() -> None:
    spec, _, pins = lab()
    before = Before(spec=spec, pins=pins, pins_now=pins)
    assert names("tidepool:images/bases.yaml", "tidepool:images/images.yaml", before=before) == []


def _with(spec: ImageSpec, name: str, /, **edits: object) -> ImageSpec:
    images = tuple(image.model_copy(update=edits) if image.name == name else image for image in spec.images)
    return spec.model_copy(update={"images": images})


@pytest.mark.parametrize(
    ("edit", "images", "said"),
    [
        ({"platforms": ("linux/arm64",)}, FAMILY, "another platforms for levanter-base"),
        ({"downloads": ()}, FAMILY, "another downloads"),
        ({"name": "older"}, FAMILY, "declares levanter-base anew"),
        ({"tags": ("other",)}, [], ""),
        ({"when": When(after="Tests")}, [], ""),
        ({"used_by": UsedBy(workflows=("Nightly",))}, [], ""),
    ],
)
def test_an_edited_entry_rebuilds_its_image_where_its_bytes_or_places_follow_from_it(
    edit: dict[str, object], images: list[str], said: str
) -> None:
    spec, _, _ = lab()
    found = after("tidepool:images/images.yaml", before=Before(spec=_with(spec, "levanter-base", **edit)))
    assert [rebuild.image for rebuild in found] == images
    assert not found or said in found[0].reason


def test_another_folder_for_uv_rebuilds_every_image() -> None:
    spec, _, _ = lab()
    earlier = spec.model_copy(update={"paths": spec.paths.model_copy(update={"uv_cache": "/var/cache/uv"})})
    found = after("tidepool:images/images.yaml", before=Before(spec=_with(earlier, "tpu-ci", downloads=())))
    assert [rebuild.image for rebuild in found] == ALL
    assert found[0].reason == "images/images.yaml says another downloads and paths for tpu-ci"


# Triggers


def test_a_trigger_includes_what_the_plan_names() -> None:
    spec, _, _ = lab()
    assert included(spec, spec.image("tpu-ci"), MARIN) == ("lib/*/pyproject.toml", "pyproject.toml", "uv.lock")
    assert included(spec, spec.image("tpu-ci"), TIDEPOOL) == (
        "images/bases.yaml",
        "images/images.yaml",
        "images/steps/**",
        "images/tpu-ci/**",
    )
    assert included(spec, spec.image("tpu-ci"), "lab/other") == ()


def test_a_trigger_ignores_what_no_build_reads_in_this_project_alone() -> None:
    spec, _, _ = lab()
    assert trigger_ignores(spec, TIDEPOOL) == ("images/*/README.md",)
    assert trigger_ignores(spec, MARIN) == ()


def test_a_childs_trigger_leaves_to_its_parent_what_the_parents_build_makes() -> None:
    spec, _, _ = lab()
    cluster, incremental = spec.image("levanter-cluster"), spec.image("levanter-incremental")
    assert trigger_files(spec, cluster, TIDEPOOL) == ("images/levanter-cluster/**",)
    assert trigger_files(spec, cluster, MARIN) == ()
    assert "images/steps/**" in trigger_files(spec, incremental, TIDEPOOL), "it follows another event than its parent"


# Any declaration, any change
