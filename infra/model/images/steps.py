"""The steps of a build of images, once for every builder: which script runs, in what, with which values, after what.

Owns the order and what each step is told. Leaves what a step does to its file below `images/steps/`, and how a builder
wants it spelled to its back end (`cloudbuild`, `github`), which adds nothing of its own.

A builder is given the steps alone: it may be older than the recipes that a build fetches. What each step is told, the
step `plan` writes down from the fetched recipes (`infra.model.images.told`), so that a build is of the pins that it is
recorded with. It refuses where the recipes have other steps than those that run (`given.steps_digest`).

A build makes a family: an image and, each from the digest that its parent just got, its descendants. Nothing is
recorded before every place answers the digest; tags move after that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.pins import Pins
from infra.model.images.places import through
from infra.model.images.record_documents import FIRST_LIMITS
from infra.model.images.scans import grype_config
from infra.model.images.spec import SPEC_FILE, Image, ImageSpec

STEPS_FOLDER = "images/steps"
LIBRARY = "lib.sh"
CHECKS = "checks.sh"
"""What all smoke tests say with; it goes before each."""
FETCH = "fetch.sh"
RECIPES = "recipes"
SOURCE = "source"

SHELL = "buildpack-deps"
"""The base that steps run in which need a shell, git and curl."""
DOCKER = "docker-cli"
"""The base with docker's client and buildx."""
PYTHON = "python"
"""The base that steps run in which run Tidepool itself."""
BUILDKIT = "buildkit"
"""The base of the BuildKit that builds."""
BUILT_BY = (BUILDKIT, DOCKER)
"""What makes an image's bytes of its recipe: BuildKit, and buildx in the container that drives it."""
CONTAINERS = (SHELL, DOCKER, PYTHON)
"""The bases that steps run in, which a builder is told and no fetched recipes can change."""
TOOLS = ("crane", "grype", "syft")
"""Downloads that steps use; they land in the workspace and run in every base."""

MINUTE = 60
IMAGE_LIMITS = {
    "smoke": 15 * MINUTE,
    "provenance": 5 * MINUTE,
    "verify": 10 * MINUTE,
    "record": 10 * MINUTE,
    "tags": 10 * MINUTE,
}
"""Seconds after which a step is ended, by kind: once a build (`FIRST_LIMITS`) and once an image.

A step has one where its work is short whatever the image is, so that a server or a smoke test that hangs ends the build
soon and by name. The others (build, inspect, push, copy) take longer the larger the image is; the limit of the whole
build ends them. Not every step can have one: Google's provider refuses a trigger whose steps' limits add up to more
than the build's, and counts each of those that run side by side. Source, read 2026-11-22:
google/services/cloudbuild/resource_cloudbuild_trigger.go of https://github.com/hashicorp/terraform-provider-google
"""

CACHE_SUFFIX = "-cache"
"""What the name of the layers that BuildKit keeps between builds ends with: beside the image, in its first place. At
GHCR a package of its own would need rights of its own, and an image's own package is never tidied."""
SIGNING_IN = frozenset({"push", "copy", "verify", "tags"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStep:
    """One step. `script` lies below images/steps/ of the recipes; `runs_in` is an entry of images/bases.yaml.

    env: what the step `plan` writes down for the script, beside what every step is told (`given.common_env`).
    timeout: seconds, None for a step that may take what is left of the build.
    after: ids of the steps that must have ended well. image: whose step it is; None for the whole build's.
    """

    id: str
    script: str
    runs_in: str
    timeout: int | None
    after: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None

    @property
    def signs_in(self) -> bool:
        """Whether the step needs the registry's credentials; no other is given them."""
        kind = Path(self.script).stem
        return kind in SIGNING_IN or (kind == "build" and bool(self.env["REGISTRIES"]))


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository that a build reads, in its folder of the workspace; the branch is built where no commit is named."""

    folder: str
    repository: str
    branch: str


def checkouts(spec: ImageSpec, images: Sequence[Image]) -> tuple[Checkout, ...]:
    """The recipes, and the one other repository that these images read, if they read another.

    Raises ConfigError where they read several: their commits could not be told apart by one revision.
    """
    branches = sorted({image.when.push.branch for image in images if image.when.push}) or ["main"]
    others = sorted({image.context.repository for image in images} - {spec.recipes})
    if len(others) > 1:
        rule = "the images of one family read two repositories beside the recipes"
        names = ", ".join(image.name for image in images)
        raise ConfigError(
            [Problem(f"{SPEC_FILE} {names}", ", ".join(others), rule, "one context.repository for them all")]
        )
    found = [Checkout(RECIPES, spec.recipes, branches[0])]
    found += [Checkout(SOURCE, repository, branches[0]) for repository in others]
    return tuple(found)


def step_pins(images: Sequence[Image]) -> tuple[str, ...]:
    """Every entry of images/bases.yaml that a build of these images needs, its own tools included, sorted."""
    needed = {SHELL, DOCKER, PYTHON, BUILDKIT, *TOOLS}
    return tuple(sorted(needed.union(*(image.pins for image in images))))


def build_steps(
    spec: ImageSpec,
    pins: Pins,
    images: Sequence[Image],
    places: Mapping[str, Sequence[str]],
    *,
    severity: str = "",
    mirror: str = "",
    today: date = date.max,
) -> tuple[BuildStep, ...]:
    """The steps that make these images, parents before children.

    places: by image, where it is pushed (the first) and copied to. severity: findings of the scan from which on the
    build fails: negligible, low, medium, high or critical. mirror: where Docker Hub's images are pulled through
    (`mirrors.hub_mirror`). today: the day by which exceptions of the scan hold or are over.
    """
    return tuple(_steps(spec, pins, images, places, _Told(severity, mirror, today)))


def step_limits(images: Sequence[Image]) -> int:
    """Seconds that the limits of all steps that make these images add up to: the least that their build is given."""
    first = sum(limit for kind, limit in FIRST_LIMITS.items() if kind != "parents" or _outside(images))
    return first + len(images) * sum(IMAGE_LIMITS.values())


def build_args(spec: ImageSpec, pins: Pins, image: Image, mirror: str = "") -> dict[str, str]:
    """Build arguments of the Dockerfile that are known before the build: bases, downloads, folders of uv.

    A download `x` is `X_VERSION`, `X_URL` and `X_SHA256`. What only the build knows is added by its step: the parent's
    reference (`PARENT_IMAGE`), and `SOURCE_DATE_EPOCH`, `REVISION`, `CREATED` and `SOURCE` of the checkout.
    """
    found = {argument: reference(pins, name, mirror) for argument, name in sorted(image.bases.items())}
    for name in sorted(image.downloads):
        found |= download_env(pins, name)
    return found | dict(spec.paths.build_args)


def download_env(pins: Pins, name: str) -> dict[str, str]:
    """A download as variables."""
    entry, start = pins.download(name), variable(name)
    return {f"{start}_VERSION": entry.version, f"{start}_URL": entry.url, f"{start}_SHA256": entry.sha256}


def reference(pins: Pins, name: str, mirror: str = "") -> str:
    """A base by digest, of Docker Hub by way of its mirror. By tag where its digest is not known yet: such a build is
    refused by its first steps.
    """
    base = pins.base(name)
    return through(f"{base.image}:{base.tag}" if base.is_unresolved else base.reference, mirror)


def parent_argument(image: Image, parent: str) -> str:
    """The build argument that names a parent: PARENT_IMAGE where there is one, else by its name."""
    return "PARENT_IMAGE" if len(image.parents) == 1 else f"{variable(parent)}_IMAGE"


def bootstrap(root: Path) -> str:
    """The text of the first step, which runs before there is a checkout: the steps' library and `fetch.sh` in one."""
    folder = root / STEPS_FOLDER
    source = '. "$(dirname "$0")/lib.sh"\n'
    fetch = (folder / FETCH).read_text(encoding="utf-8")
    head, found, tail = fetch.partition(source)
    if not found:
        raise ValueError(f"{STEPS_FOLDER}/{FETCH} does not read {LIBRARY} by {source.strip()}")
    return head + (folder / LIBRARY).read_text(encoding="utf-8") + tail


@dataclass(frozen=True, slots=True)
class _Told:
    severity: str
    mirror: str
    today: date


def _steps(
    spec: ImageSpec, pins: Pins, images: Sequence[Image], places: Mapping[str, Sequence[str]], told: _Told
) -> Iterator[BuildStep]:
    yield _step("fetch", SHELL, after=())
    yield _step("plan", PYTHON, after=("fetch",))
    tools = {key: value for name in TOOLS for key, value in download_env(pins, name).items()}
    yield _step("tools", SHELL, after=("plan",), env={"TOOLS": " ".join(TOOLS), **tools})
    before = "tools"
    if outside := _outside(images):
        yield _step("parents", PYTHON, after=("tools",), env={"PARENTS": " ".join(outside)})
        before = "parents"
    for image in images:
        yield from _image_steps(spec, pins, image, places, told, before)
        before = f"tags-{image.name}"


def _outside(images: Sequence[Image]) -> list[str]:
    """Parents that another build makes, sorted."""
    return sorted({parent for image in images for parent in image.parents} - {image.name for image in images})


def _image_steps(
    spec: ImageSpec, pins: Pins, image: Image, places: Mapping[str, Sequence[str]], told: _Told, before: str
) -> Iterator[BuildStep]:
    name, (first, *others) = image.name, places[image.name]
    arguments = build_args(spec, pins, image, told.mirror)
    parents = [f"{parent_argument(image, each)}={each}={places[each][0]}" for each in image.parents]
    cache = f"{first}{CACHE_SUFFIX}" if image.push.artifact_registry else ""
    asked = [cache, told.mirror, *(places[each][0] for each in image.parents)]
    build = {
        "ARGUMENTS": " ".join(sorted(arguments)),
        "BUILDKIT": reference(pins, BUILDKIT, told.mirror),
        "CACHE": cache,
        "CONTEXT": RECIPES if image.context.repository == spec.recipes else SOURCE,
        "PARENTS": " ".join(parents),
        "PLATFORMS": ",".join(image.platforms),
        "REGISTRIES": " ".join(sorted({each.partition("/")[0] for each in asked if each})),
        **arguments,
    }
    everywhere = {"PLACES": " ".join((first, *others))}
    yield _step("build", DOCKER, name, after=(before,), env=build)
    yield _step("smoke", DOCKER, name, after=(f"build-{name}",))
    scan = {"SEVERITY": told.severity, "EXCEPTIONS": grype_config(spec.exceptions, name, told.today)}
    yield _step("inspect", SHELL, name, after=(f"smoke-{name}",), env=scan)
    told_to_provenance = {"ARGUMENTS": build["ARGUMENTS"], "PLATFORMS": build["PLATFORMS"], **arguments}
    yield _step("provenance", SHELL, name, after=(f"inspect-{name}",), env={"PLACE": first, **told_to_provenance})
    yield _step("push", SHELL, name, after=(f"provenance-{name}",), env={"PLACE": first})
    copies = []
    for place in others:
        copies.append(f"copy-{name}-{place_label(place)}")
        env = {"FROM": first, "PLACE": place}
        yield _step("copy", SHELL, name, after=(f"push-{name}",), env=env, step_id=copies[-1])
    yield _step("verify", SHELL, name, after=(f"push-{name}", *copies), env=everywhere)
    yield _step(
        "record", PYTHON, name, after=(f"verify-{name}",), env={**everywhere, "PARENTS": " ".join(image.parents)}
    )
    yield _step("tags", PYTHON, name, after=(f"record-{name}",), env={**everywhere, "TAGS": " ".join(image.tags)})


def _step(
    kind: str,
    runs_in: str,
    image: str | None = None,
    *,
    after: tuple[str, ...],
    env: Mapping[str, str] | None = None,
    step_id: str | None = None,
) -> BuildStep:
    return BuildStep(
        id=step_id or (kind if image is None else f"{kind}-{image}"),
        script=f"{STEPS_FOLDER}/{kind}.sh",
        runs_in=runs_in,
        timeout=(FIRST_LIMITS if image is None else IMAGE_LIMITS).get(kind),
        after=after,
        env={**({} if image is None else {"IMAGE": image}), **(env or {})},
        image=image,
    )


def place_label(place: str) -> str:
    """What tells a place from the others of its image: the region of Artifact Registry, or the host."""
    host = place.partition("/")[0]
    return host.removesuffix("-docker.pkg.dev").replace(".", "-")


def variable(name: str) -> str:
    """A pin's or an image's name as the start of variables."""
    return name.upper().replace("-", "_").replace(".", "_")
