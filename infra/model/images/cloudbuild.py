"""A build of images as Cloud Build takes it: the body of a `Build` in REST spelling.

Owns the spelling of steps (`infra.model.images.steps`) for Cloud Build v1, and what a build needs of its stack. Leaves
triggers to the component. Source, read 2026-11-21: https://docs.cloud.google.com/build/docs/build-config-file-schema
and https://docs.cloud.google.com/build/docs/configuring-builds/substitute-variable-values
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.model.bucket_names import image_begun_object
from infra.model.images.pins import Pins
from infra.model.images.spec import ImageSpec
from infra.model.images.steps import (
    CONTAINERS,
    FETCH,
    RECIPES,
    BuildStep,
    build_steps,
    checkouts,
    reference,
)
from infra.model.images.told import common_env

WORKSPACE = "/workspace/.tidepool"
"""Beside what Cloud Build checks out by itself, whose folders could have any name."""
DOCKER_API = "1.41"
"""What Cloud Build's docker daemon speaks. Clients from release 29 on do not go below 1.44 by themselves. Sources, read
2026-11-21: https://github.com/googleapis/librarian/issues/2860 and
https://github.com/GoogleCloudPlatform/terraform-google-enterprise-application/pull/706"""
QUEUE_SECONDS = 3600
"""How long a build may wait for a worker: the next one comes from newer sources anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What of a stack its builds are told.

    logs_bucket: its name. service_account: the email that builds run as. timeout: seconds for
    a whole build. disk_gb: gigabytes.
    private: source repositories that nobody reads without a token, with their full names at Cloud Build.
    mirror: where the containers of steps are pulled through (`mirrors.hub_mirror`). record_bucket: the bucket with the
    record of images, in which a build says first of all that it began; empty where it says so nowhere.
    """

    project: str
    stack: str
    logs_bucket: str
    service_account: str
    machine_type: str
    timeout: int
    disk_gb: int
    private: Mapping[str, str] = field(default_factory=dict)
    mirror: str = ""
    record_bucket: str = ""


def build_config(
    spec: ImageSpec,
    pins: Pins,
    name: str,
    *,
    places: Mapping[str, tuple[str, ...]],
    site: Site,
    bootstrap: str,
    revisions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The `Build` of one image and its descendants.

    places: of every image of the specification, by name. bootstrap: the first step's text (`steps.bootstrap`).
    revisions: what a trigger knows of commits, by repository, such as `$COMMIT_SHA`; branches are built where nothing
    is known, or where the expression comes out empty. Of the recipes the branch's newest commit is always taken: they
    run as the builder, and an older one would bring back what was mended.
    """
    images = spec.family(name)
    revisions = revisions or {}
    sources = checkouts(spec, images)
    steps = build_steps(spec, pins, images, places)
    named = {
        f"{each.folder.upper()}_REVISION": revisions.get(each.repository, "")
        for each in sources
        if each.folder != RECIPES
    }
    told = {
        "WORKSPACE": WORKSPACE,
        "BUILDER": "cloudbuild",
        "BUILD": "$BUILD_ID",
        "DOCKER_API_VERSION": DOCKER_API,
        "UNRESOLVED": " ".join(pins.unresolved(CONTAINERS)),
        **{key: escaped(value) for key, value in common_env(spec, images, steps, bootstrap).items()},
        **_private(site, [each.repository for each in sources]),
        **_begun(site, name),
        **{each: f"${{_{each}}}" if revision else "" for each, revision in named.items()},
    }
    return {
        "steps": [_step(step, pins, site.mirror, bootstrap) for step in steps],
        "timeout": f"{site.timeout}s",
        "queueTtl": f"{QUEUE_SECONDS}s",
        "logsBucket": f"gs://{site.logs_bucket}",
        "serviceAccount": f"projects/{site.project}/serviceAccounts/{site.service_account}",
        "tags": ["tidepool", f"stack-{site.stack}", *(f"image-{image.name}" for image in images)],
        "substitutions": {f"_{each}": revision for each, revision in named.items() if revision},
        "options": {
            "machineType": site.machine_type,
            "diskSizeGb": str(site.disk_gb),
            "logging": "GCS_ONLY",
            "env": [f"{key}={value}" for key, value in told.items()],
        },
    }  # fmt: skip


def _private(site: Site, repositories: Sequence[str]) -> dict[str, str]:
    """What the first step is told of repositories that it needs a token for; nothing where all are public."""
    told = " ".join(f"{each}={site.private[each]}" for each in repositories if each in site.private)
    return {"PRIVATE": told} if told else {}


def _begun(site: Site, image: str) -> dict[str, str]:
    """Where the first step says that the build began. The object's name is part of a URL, where a slash is `%2F`."""
    named = image_begun_object(image).replace("/", "%2F")
    return {"BEGUN": f"{site.record_bucket} {named}"} if site.record_bucket else {}


def escaped(value: str) -> str:
    """A value that Cloud Build hands on as it is: it takes `$$` for a dollar sign and `$NAME` for a substitution."""
    return value.replace("$", "$$")


def _step(step: BuildStep, pins: Pins, mirror: str, bootstrap: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": step.id,
        "name": reference(pins, step.runs_in, mirror),
        # Without it a step waits for all before it; a dash means that it waits for none.
        "waitFor": list(step.after) or ["-"],
    }
    if step.timeout is not None:
        body["timeout"] = f"{step.timeout}s"
    if step.script.endswith(f"/{FETCH}"):
        body["script"] = bootstrap  # Cloud Build substitutes nothing in a script
    else:
        body |= {"entrypoint": "sh", "args": [f"{WORKSPACE}/recipes/{step.script}"], "env": [f"STEP={step.id}"]}
    return body
