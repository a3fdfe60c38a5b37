"""Builds of images as jobs of a GitHub workflow: plain data, one job an image.

Owns the spelling of steps (`infra.model.images.steps`) for GitHub, and how a digest goes from a job to those after it.
Leaves to the workflow around them when they run, which of them run, and its permissions; a job needs `contents: read`,
`packages: write` and, for the record, `id-token: write`. Source, read 2026-11-21:
https://docs.github.com/actions/reference/workflow-syntax-for-github-actions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.model.images.pins import Pins
from infra.model.images.spec import Builder, Image, ImageSpec
from infra.model.images.steps import FETCH, MINUTE, RECIPES, BuildStep, build_steps, checkouts
from infra.model.images.told import common_env

RUNNER = "ubuntu-24.04"
WORKSPACE = "${{ github.workspace }}"
TOKEN = "${{ secrets.GITHUB_TOKEN }}"  # noqa: S105 - an expression, not a token


def build_jobs(
    spec: ImageSpec,
    pins: Pins,
    *,
    places: Mapping[str, tuple[str, ...]],
    timeout: int,
    bootstrap: str,
    revisions: Mapping[str, str] | None = None,
    before: Sequence[Mapping[str, Any]] = (),
) -> dict[str, dict[str, Any]]:
    """The jobs of every image that GitHub builds, parents first, each by its image's name.

    A job `needs` those of its parents, takes their digests from them, and hands on its own as `outputs.digest`. Where a
    parent's job did not run, the record's current digest is taken.

    places, bootstrap: as for `cloudbuild.build_config`. timeout: seconds that each job may take. revisions:
    expressions of commits, by repository, such as `${{ github.sha }}`. before: steps that come first in each job, such
    as the one that signs in to Google.
    """
    images = [image for image in spec.order() if image.builder is Builder.GITHUB]
    names = {image.name for image in images}
    return {
        image.name: _job(spec, pins, image, names, places, timeout, bootstrap, revisions or {}, before)
        for image in images
    }


def _job(
    spec: ImageSpec,
    pins: Pins,
    image: Image,
    names: set[str],
    places: Mapping[str, tuple[str, ...]],
    timeout: int,
    bootstrap: str,
    revisions: Mapping[str, str],
    before: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    steps = build_steps(spec, pins, (image,), places)
    named = [each for each in checkouts(spec, (image,)) if each.folder != RECIPES]
    needs = [parent for parent in image.parents if parent in names]
    told = {
        "WORKSPACE": WORKSPACE,
        "BUILDER": "github",
        "BUILD": "${{ github.run_id }}-${{ github.run_attempt }}",
        "REGISTRY_USER": "${{ github.actor }}",
        **common_env(spec, (image,), steps, bootstrap),
        **{f"{each.folder.upper()}_REVISION": revisions.get(each.repository, "") for each in named},
    }
    known = {"KNOWN": " ".join(f"{each}=${{{{ needs.{each}.outputs.digest }}}}" for each in needs)}
    return {
        "name": f"Build {image.name}",
        **({"needs": needs} if needs else {}),
        "runs-on": RUNNER,
        "timeout-minutes": timeout // MINUTE,
        "outputs": {"digest": f"${{{{ steps.record-{image.name}.outputs.digest }}}}"},
        "env": told,
        "steps": [*(dict(step) for step in before), *(_step(step, bootstrap, known) for step in steps)],
    }


def _step(step: BuildStep, bootstrap: str, known: Mapping[str, str]) -> dict[str, Any]:
    fetches = step.script.endswith(f"/{FETCH}")
    env = {} if fetches else {"STEP": step.id}
    if step.id == "parents":
        env |= known
    if step.signs_in:
        env["REGISTRY_TOKEN"] = TOKEN
    if step.id.startswith("record-"):
        env["GITHUB_TOKEN"] = TOKEN  # a package is private until somebody makes it public
    return {
        "name": step.id.replace("-", " ", 1).capitalize(),
        "id": step.id,
        "shell": "sh",
        **({"env": env} if env else {}),
        "run": bootstrap if fetches else f"sh recipes/{step.script}",
        **({} if step.timeout is None else {"timeout-minutes": step.timeout // MINUTE}),
    }
