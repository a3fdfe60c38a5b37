"""What the files of images may not say: each edit of `refusals.yaml` is refused, in the words of one golden."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from infra.model.errors import ConfigError
from infra.model.images import stack_rules
from infra.model.images.load import load_images
from infra.model.images.pins import parse_pins
from infra.model.images.places import record_stack
from infra.model.schema import StackConfig
from tests.model.images.declared import (
    BUILDS,
    EXCEPTIONS,
    IMAGES,
    LISTING,
    PINS,
    REGISTRIES,
    SOURCE,
    edited,
    loaded,
    project,
    refused,
    stacks,
)

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "image_refusals.txt"
TABLE: Mapping[str, Any] = yaml.safe_load((HERE / "refusals.yaml").read_text(encoding="utf-8"))
EXCEPTED = edited(IMAGES, ("images:\n", f"{EXCEPTIONS}images:\n"))
STACK = f"{SOURCE}:19 images[0].push.artifact_registry.stack"


def cases(root: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each edited file with what reads it."""
    for text, rows in ((IMAGES, TABLE["declaration"]), (EXCEPTED, TABLE["exceptions"])):
        for what, edit in rows.items():
            files = {SOURCE: edited(text, tuple(edit))}
            yield what, lambda files=files, what=what: loaded(project(root / what, files))
    for old, new in TABLE["pins"]:
        yield f"{old!r} -> {new!r}", lambda old=old, new=new: parse_pins(edited(PINS, (old, new)))


def test_the_words_of_every_refusal_are_those_that_were_read_last(tmp_path: Path, update_goldens: bool) -> None:
    """All of them in one place, as people see them: where, what, why and what to write."""
    told = []
    for what, reads in cases(tmp_path):
        with refused() as problems:
            reads()
        assert all(each.rule and each.fix for each in problems), what
        assert all(each.subject.startswith(("images/images.yaml:", "images/bases.yaml:")) for each in problems), what
        told.append(f"{what}\n{indent(str(ConfigError(problems)), '  ')}\n")
    text = "".join(told)
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize(
    ("file", "text", "subject", "said"),
    [
        ("images/runner/Dockerfile", None, "images[0].folder", "a file images/runner/Dockerfile"),
        ("images/runner/smoke.sh", None, "images[0].folder", "a file images/runner/smoke.sh"),
        ("images/runner/Dockerfile.dockerignore", None, "images[0].context.paths", "the same paths"),
        ("images/runner/Dockerfile.dockerignore", "*\n!uv.lock\n", "images[0].context.paths", "the same paths"),
        ("images/runner/Dockerfile.dockerignore", "!uv.lock\n!lib/*/pyproject.toml\n", "context.paths", "the same"),
        ("images/runner/Dockerfile", "ARG BASE_IMAGE\nARG UV_URL\nARG NODE_URL\n", "images[0].folder", "no ARG"),
        ("images/stray/Dockerfile", "FROM scratch\n", "images", "remove it"),
        (LISTING, "# source: https://github.com/lab/code\nuv.lock 12\n", f"{LISTING}:2", "images listing lab/code"),
        (LISTING, f"uv.lock {'c' * 40}\n", LISTING, "images listing lab/code"),
        (LISTING, "# source: /home/me/code\n", LISTING, "images listing lab/code"),
        (SOURCE, None, SOURCE, "a file images/images.yaml"),
        (SOURCE, "", SOURCE, "docs/images.md"),
        (SOURCE, "- a\n", f"{SOURCE}:1", "version: 1"),
        (SOURCE, "version: 1\nimages: [\n", f"{SOURCE}:3", "mend this line"),
        ("images/bases.yaml", None, "images/bases.yaml", "a file images/bases.yaml"),
        (SOURCE, edited(IMAGES, ("ghcr.io/lab/base", "nowhere")), f"{SOURCE}:34 images[1].push.ghcr", ""),
    ],
)
def test_a_checkout_that_does_not_fit_is_refused(
    file: str, text: str | None, subject: str, said: str, tmp_path: Path
) -> None:
    with refused() as problems:
        loaded(project(tmp_path, {file: text}))
    assert [each for each in problems if each.subject.endswith(subject) and said in each.fix], problems


def with_ci(**update: object) -> dict[str, StackConfig]:
    return dict(stacks()) | {"ci": stacks()["ci"].model_copy(update=update)}


BARE = {"ci": stacks()["train"].model_copy(update={"stack": "ci"})}


@pytest.mark.parametrize(
    ("having", "told"),
    [
        ({}, [(STACK, "a file stacks/Pulumi.ci.yaml")]),
        (BARE, [(STACK, "a stack's own")]),
        ({"ci": with_ci(pools=())["ci"]}, [(f"{SOURCE}:25 images[0].used_by.pools[0]", "another stack")]),
        (
            stacks(REGISTRIES.replace(", keep_tag_prefixes: [in-use-]", "")),
            [("", "keep_tag_prefixes: [in-use-] in the stack")],
        ),
        (with_ci(builds=None), [(f"{SOURCE}:14 images[0].builder", "")]),
        (
            stacks(builds=BUILDS.replace("lab/code}", "lab/code, private: true}")),
            [("images[1].builder", ""), ("images[2].builder", "")],
        ),
        (stacks(builds=BUILDS.replace(", {repository: lab/tidepool}", "")), [("", "lab/tidepool")]),
    ],
    ids=["no stack", "no registries", "no pools", "it forgets", "no builds", "a private repository", "unconnected"],
)
def test_stacks_that_do_not_fit_are_refused(
    having: Mapping[str, StackConfig], told: list[tuple[str, str]], tmp_path: Path
) -> None:
    with refused() as problems:
        load_images(project(tmp_path), having)
    for subject, fix in told:
        assert [each for each in problems if each.subject.endswith(subject) and fix in f"{each.fix} {each.value}"], (
            problems
        )


@pytest.mark.parametrize(("most", "fix"), [(70, "timeout: 70m or more"), (69, "fewer images in one build")])
def test_a_build_that_no_timeout_suffices_for_is_told_to_be_smaller(
    most: int, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_images(project(tmp_path), stacks(builds=edited(BUILDS, ("2h", "70m"))))
    monkeypatch.setattr(stack_rules, "MAX_BUILD_SECONDS", most * 60)
    with refused() as problems:
        load_images(project(tmp_path), stacks(builds=edited(BUILDS, ("2h", "4199s"))))
    assert problems[0].fix.startswith(fix)


def test_a_working_copy_counts_before_the_listing(tmp_path: Path) -> None:
    copy = tmp_path / "code"
    for path in ("uv.lock", "lib/a/pyproject.toml", "lib/b.py"):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text("")
    root = project(tmp_path / "project", {LISTING: None})
    assert load_images(root, stacks(), checkouts={"lab/code": copy})
    (copy / "uv.lock").unlink()
    with refused() as problems:
        load_images(root, stacks(), checkouts={"Lab/Code": copy})
    assert {problem.value for problem in problems} == {'"uv.lock"'}


def test_images_of_two_stacks_have_no_record_in_common(tmp_path: Path) -> None:
    spec = loaded(project(tmp_path))
    first = spec.images[0]
    pushed = first.push.artifact_registry
    assert pushed is not None
    assert record_stack(spec) == "ci"
    other = first.push.model_copy(update={"artifact_registry": pushed.model_copy(update={"stack": "train"})})
    both = spec.model_copy(update={"images": (first, first.model_copy(update={"push": other}))})
    for wrong, said in (
        (both, "images/images.yaml images: ci, train"),
        (spec.model_copy(update={"images": ()}), "no stack"),
    ):
        with refused() as problems:
            record_stack(wrong)
        assert said in str(problems[0])
