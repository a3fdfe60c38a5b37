"""A build of an image: what is generated for it, what its steps are told, how it is started, and its commit point."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from infra.engines.bench import bench
from infra.fleet.images.attempts import begin
from infra.fleet.images.builds import Recorded, Started, Starter, record_build
from infra.model.images.cost import due_by
from infra.model.images.github import build_jobs
from infra.model.images.places import record_stack
from infra.model.images.record_documents import Build
from infra.model.images.spec import Builder, Image
from infra.model.images.steps import bootstrap, checkouts, step_pins
from infra.model.images.told import DeclaredImages, told_files
from infra.model.schema import Builds, StackConfig
from infra.operations.declared.images import Lab
from infra.operations.errors import Failure, Refusal
from infra.operations.images.lab import Work

_MINUTE = 60

Listener = Callable[[str, str], None]


def build_here(
    lab: Lab, image: Image, *, context: Path | None, given: Mapping[str, str], cached: bool, listen: Listener
) -> tuple[str, tuple[Any, ...]]:
    """Build an image on this machine, after its parents; the builder's name and what came of each. Pushes nothing.

    context: a checkout of the repository that the image reads, where that is another than the recipes'. given: images
    by the argument whose pinned one they replace. listen: takes the image and what became of it, or no image and a
    line of the builder's. Raises Failure without a builder, or where a build or a smoke test fails.
    """
    return bench().build_image(lab, image, context=context, given=given, cached=cached, listen=listen)


def generated_text(lab: Lab, image: Image) -> str:
    """The same as YAML."""
    return yaml.dump(generated(lab, image), Dumper=_Dumper, sort_keys=False, width=1000)


def generated(lab: Lab, image: Image) -> dict[str, Any]:
    """What builds an image and its descendants: the config of its trigger, or its jobs of the GitHub workflow.

    Raises Refusal where its stack does not say how it is scanned and built.
    """
    if image.builder is Builder.CLOUDBUILD:
        from infra.program.builds import build_plan, image_build  # the program's SDK takes a while to import

        registry = image.push.artifact_registry
        stack = lab.stacks[registry.stack] if registry else lab.home
        plan = build_plan(lab.root, stack)
        if plan is None:
            raise Refusal(_undeclared(stack, image))
        return image_build(plan, image)
    if lab.home.builds is None:
        raise Refusal(_undeclared(lab.home, image))
    jobs = build_jobs(
        lab.spec,
        lab.pins,
        places={each.name: lab.places(each.name) for each in lab.spec.images},
        timeout=lab.home.builds.timeout,
        bootstrap=bootstrap(lab.root),
    )
    return {each.name: jobs[each.name] for each in lab.spec.family(image.name)}


def _undeclared(stack: StackConfig, image: Image) -> str:
    return f"stacks/Pulumi.{stack.stack}.yaml has no tidepool:builds, which says how {image.name} is scanned and built"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What the steps of a build are told by a checkout. began: when the build did."""

    lab: Lab
    image: Image
    began: datetime

    @property
    def _told(self) -> DeclaredImages:
        lab = self.lab
        return DeclaredImages(spec=lab.spec, pins=lab.pins, stacks=lab.stacks, bootstrap=bootstrap(lab.root))

    def begin(self, work: Work, build: str) -> None:
        """Write down that the build began: it is told of as failed where it leaves no record."""
        spec, declares = self.lab.spec, self.lab.home.builds
        limit = timedelta(seconds=declares.timeout if declares else 0)
        every = {each.name: due_by(spec, each.name, self.began) for each in spec.images}
        made = [each.name for each in self._told.made(self.image.name)]
        begin(work.records, made, build, self.began, self.began + limit, declared=every)

    def insist_on(self, digest: str | None) -> None:
        """Raises Refusal where the build that asks has other steps, ConfigError where a pin of its is unresolved."""
        if digest is not None and digest != self._told.digest(self.image.name):
            raise Refusal(
                f"{self.image.name}: the steps of this build were declared from other recipes than it has fetched, "
                f"so its record would be wrong. Next: {self._next()}"
            )
        self.lab.pins.insist(step_pins(self._told.made(self.image.name)))

    def write(self, folder: Path) -> None:
        """A file a step, of assignments of the shell."""
        folder.mkdir(parents=True, exist_ok=True)
        for step, text in told_files(self._told.steps(self.image.name, self.began.date())).items():
            (folder / step).write_text(text, encoding="utf-8")

    def _next(self) -> str:
        registry = self.image.push.artifact_registry
        if self.image.builder is Builder.CLOUDBUILD:
            stack = registry.stack if registry else record_stack(self.lab.spec)
            return f"./tidepool up {stack}, which starts the build anew"
        return "./tidepool workflows --write, and merge the workflow of images where it runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The build of an image that its stack has a trigger for. folders: commits by folder of the build's workspace."""

    image: Image
    stack: StackConfig
    builds: Builds
    folders: Mapping[str, str]

    def start(self, work: Work, minutes: int, say: Callable[[str], None]) -> Started:
        """Start it by a message, and wait for the record for so many minutes; 0 waits for nothing."""
        return Starter(
            google=work.google[self.stack.stack],
            store=work.store,
            project=self.stack.project,
            stack=self.stack.stack,
            region=self.builds.region,
            sleep=time.sleep,
            clock=time.monotonic,
        ).start(self.image.name, limit=minutes * _MINUTE, tell=say, revisions=self.folders)


def trigger(lab: Lab, image: Image, commits: Mapping[str, str]) -> Trigger:
    """The trigger of an image. commits: by repository, where not its branch's newest is built.

    Raises Refusal where no stack builds the image or a commit is of no repository that the build reads, ConfigError
    where a pin is unresolved.
    """
    registry = image.push.artifact_registry
    if image.builder is not Builder.CLOUDBUILD or registry is None:
        raise Refusal(
            f"{image.name} is built by GitHub, and no trigger of a stack builds it; run its workflow on GitHub, "
            "or leave --trigger out to build it here"
        )
    folders = _folders(lab, image, commits)
    lab.pins.insist(step_pins(lab.spec.family(image.name)))
    stack = lab.stacks[registry.stack]
    if stack.builds is None:
        raise Refusal(f"stacks/Pulumi.{stack.stack}.yaml has no tidepool:builds, so nothing there builds {image.name}")
    return Trigger(image=image, stack=stack, builds=stack.builds, folders=folders)


def _folders(lab: Lab, image: Image, commits: Mapping[str, str]) -> dict[str, str]:
    folders = {each.repository: each.folder for each in checkouts(lab.spec, lab.spec.family(image.name))}
    for repository, commit in commits.items():
        if repository == lab.spec.recipes:
            raise Refusal(f"{repository} has the recipes, of which the newest commit of main is always built")
        if repository not in folders:
            raise Refusal(f"a build of {image.name} reads {' and '.join(sorted(folders))}, not {repository}")
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise Refusal(f"--revision {repository}: {commit!r} is not a commit of 40 hexadecimal digits")
    return {folders[repository]: commit for repository, commit in commits.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A build as its steps wrote it down, and the documents that are kept beside the record."""

    image: str
    build: Build
    documents: Mapping[str, bytes]

    def record(self, work: Work) -> Recorded:
        """Ask every place of the image for the digest again, keep the documents, then write the record."""
        places = work.lab.places(self.image)
        return record_build(
            work.records, work.registries, self.image, self.build, places=places, documents=self.documents
        )


def finished(lab: Lab, image: str, build: Path, documents: Mapping[str, Path]) -> Finished:
    """Read it from files. Raises Failure for a file that cannot be read or is no build, ConfigError for no image."""
    name = lab.image(image).name
    try:
        found = Build.model_validate_json(_read(build))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Failure(f"{build} is not a build: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    found = found.model_copy(update={"due_by": due_by(lab.spec, name, found.built)})
    return Finished(image=name, build=found, documents={key: _read(path) for key, path in documents.items()})


def steps(lab: Lab, image: str, began: datetime) -> Steps:
    """began: when the build began, in UTC."""
    return Steps(lab=lab, image=lab.image(image), began=began.replace(tzinfo=UTC))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror or error}") from None


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, line by line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
