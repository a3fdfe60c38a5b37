"""Rules of images: what a child is built from, which digest stands for what was built, regions that agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.builds import Build, builds, host, tag, without_tag
from workflows.checks.plain import mapping, text
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Job

_LABS = re.compile(r"ghcr\.io|[\w-]+-docker\.pkg\.dev")
"""Registries to which a lab pushes; what comes from others is somebody else's image."""
_KEEPS_DIGEST = re.compile(
    r"outputs\.digest|--metadata-file|--iidfile|crane digest|imagetools inspect|RepoDigests|manifest inspect"
)
_AGREES = re.compile(
    r"(crane|gcrane|skopeo) (copy|cp|digest|manifest|inspect)|imagetools (create|inspect)|manifest inspect"
)
_MUTABLE = re.compile(r"latest|main|master|nightly|dev|stable|edge|\d{8}|.*(DATE|date|REF_NAME|ref_name|head_ref).*")


def _parents(scene: Scene) -> Iterator[Broken]:
    every = tuple(each for job in scene.jobs() for each in builds(job, scene.known.repository))
    pushed = {without_tag(name) for each in every for name in each.pushed}
    known = pushed | {without_tag(base) for base in scene.known.bases}
    for each in every:
        for base in _bases(each, scene):
            if not _LABS.fullmatch(host(base)) or _open(without_tag(base)):
                continue
            if without_tag(base) not in known:
                near = sorted(
                    name for name in pushed if name.rpartition("-")[2] == without_tag(base).rpartition("-")[2]
                )
                hint = f"; what is pushed is {', '.join(near)}" if near else ""
                yield _broken(each, f"{each.dockerfile or 'the image'} is built FROM {base}, which no job pushes{hint}")
            elif late := _later(base, each, every):
                yield _broken(
                    each, f"{base} is pushed after this build, so that the one of an earlier run is its base: {late}"
                )


def _bases(build: Build, scene: Scene) -> tuple[str, ...]:
    """What an argument gives, else what the Dockerfile says."""
    return build.bases or scene.known.dockerfiles.get(build.dockerfile, ())


def _open(name: str) -> bool:
    return "$" in name


def _later(base: str, build: Build, every: tuple[Build, ...]) -> str:
    same = [each for each in every if each.job == build.job and without_tag(base) in map(without_tag, each.pushed)]
    after = [each for each in same if each.order > build.order]
    return after[0].dockerfile or "docker push" if after and len(after) == len(same) else ""


def _digests(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        kept = job.mentions(_KEEPS_DIGEST.pattern)
        for each in builds(job, scene.known.repository):
            moving = [name for name in each.pushed if _MUTABLE.fullmatch(tag(name) or "latest")]
            if moving and not kept:
                reason = f"{moving[0]} moves with the next push, and no digest of this one is kept"
                yield _broken(each, reason)
        yield from _run_by_tag(job)


def _run_by_tag(job: Job) -> Iterator[Broken]:
    beside = mapping(job.data.get("services"))
    places = {("container",): job.data.get("container"), **{("services", name): each for name, each in beside.items()}}
    for place, container in places.items():
        image = text(mapping(container).get("image")) if isinstance(container, dict) else text(container)
        if image and "@sha256:" not in image and "${{" not in image:
            reason = f"the job runs with {image}, which may be another image tomorrow"
            yield Broken(workflow=job.workflow, path=(*job.path, *place), job=job.id, reason=reason)
    for step in job.steps:
        for command in step.commands:
            if command.texts[:2] in {("docker", "run"), ("docker", "pull")}:
                for each in command.texts[2:]:
                    if host(each) and "@sha256:" not in each and tag(each) in {"", "latest"}:
                        reason = f"{each} may be another image tomorrow"
                        path = (*step.path, "run")
                        yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


def _regions(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if job.mentions(_AGREES.pattern):
            continue
        places: dict[str, Build] = {}
        for each in builds(job, scene.known.repository):
            for name in each.pushed:
                if _LABS.fullmatch(host(name)):
                    places.setdefault(host(name), each)
        looped = [each for each in builds(job, scene.known.repository) if any(_by_region(name) for name in each.pushed)]
        if len(places) > 1:
            first = next(iter(places.values()))
            reason = f"{len(places)} registries are pushed to one after the other, and a failure leaves them different"
            yield _broken(first, reason)
        elif looped:
            yield _broken(
                looped[0], f"{looped[0].pushed[0]} is pushed region by region, and a failure leaves them different"
            )


def _by_region(name: str) -> bool:
    return re.match(r"\$(\{\{.*?\}\}|[^\s/]*?)-?docker\.pkg\.dev/", name) is not None


def _broken(build: Build, reason: str) -> Broken:
    return Broken(workflow=build.job.workflow, path=build.path, job=build.job.id, reason=reason, lines=build.line)


RULES = (
    Rule(
        id="parent-is-pushed",
        what="An image is built from one that a job pushes, before it, or that is known as somebody else's",
        why="a child of a name that nobody pushes is built from an old image for ever",
        example="`FROM ghcr.io/OLD-OWNER/levanter-base` where the parent's job pushes `ghcr.io/OWNER/levanter-base`",
        fix="--build-arg BASE_IMAGE=NAME@DIGEST, of the parent that was just pushed",
        judge=_parents,
    ),
    Rule(
        id="digest-kept",
        what="The digest of what is pushed under a tag that moves is kept, and what is run is named by one",
        why="`latest` is something else tomorrow: nobody can say what ran, nor go back to it",
        example="`docker buildx build --tag NAME:latest --push .`",
        fix="--metadata-file or the action's digest output, and NAME@DIGEST for whoever runs it",
        judge=_digests,
    ),
    Rule(
        id="regions-agree",
        what="An image is pushed once, copied to other registries by digest, and seen to be the same in all",
        why="a push that fails in the third of six regions leaves two versions under one tag",
        example="one build with tags in `europe-west4-docker.pkg.dev` and `us-central1-docker.pkg.dev`",
        fix="one push, crane copy NAME@DIGEST to each other region, crane digest in all, and then the tags",
        judge=_regions,
    ),
)
