"""What of `images/images.yaml` a stack builds, joined: the plan of it, and the components that make it so.

Owns which images get which triggers, that no connection is for nothing, and what a person is told of pushes that
nobody hears of. Leaves what a build does to `infra.model.images`, and how a trigger is made to the components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp

from infra.components.build_logs import BuildLogs, BuildLogsArgs
from infra.components.build_sources import BuildSource, BuildSources, BuildSourcesArgs
from infra.components.builds import Builds, BuildsArgs, Clock, ImageBuilds, PushTrigger
from infra.model import federation, names
from infra.model.errors import ConfigError, Problem
from infra.model.images.cloudbuild import Site, build_config
from infra.model.images.load import load_images
from infra.model.images.pins import PINS_FILE, RESOLVE, Pins, load_pins
from infra.model.images.places import hub_mirror, places, record_stack
from infra.model.images.rebuilds import trigger_ignores
from infra.model.images.spec import Builder, Image, ImageSpec
from infra.model.images.stack_rules import CONNECT, push_sources, unconnected
from infra.model.images.steps import bootstrap, checkouts, step_pins
from infra.model.schema import Builds as BuildsConfig
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.program.shared import labels

COMMIT: Final = "$COMMIT_SHA"
"""Cloud Build's word for the commit of the push that started a build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """What a stack builds. first_step: the text that fetches the sources, before there is a checkout.

    stacks: every stack by name, for the places of parents and children.
    """

    config: StackConfig
    settings: BuildsConfig
    stacks: Mapping[str, StackConfig]
    spec: ImageSpec
    pins: Pins
    first_step: str

    @property
    def images(self) -> tuple[Image, ...]:
        """The images that Cloud Build builds for this stack's registries, parents first."""
        return tuple(image for image in self.spec.order() if _is_built_by(self.config, image))

    @property
    def workflow_sources(self) -> tuple[str, ...]:
        """Repositories whose workflow of images acts here: those that images are built from, sorted."""
        return tuple(sorted({image.context.repository for image in self.spec.images} | {self.spec.recipes}))


def build_plan(root: Path, config: StackConfig) -> BuildPlan | None:
    """The plan of a stack with `tidepool:builds`, None for any other. ConfigError with everything that is wrong.

    root: the checkout with the images, their pins and the other stacks.
    """
    if config.builds is None:
        return None
    others = {name: load_stack(root, name) for name in stack_names(root) if name != config.stack}
    stacks = {**others, config.stack: config}
    plan = BuildPlan(
        config=config,
        settings=config.builds,
        stacks=stacks,
        spec=load_images(root, stacks),
        pins=load_pins(root),
        first_step=bootstrap(root),
    )
    if problems := list(_unused(plan)):
        raise ConfigError(problems)
    return plan


def image_build(plan: BuildPlan, image: Image) -> dict[str, Any]:
    """The Cloud Build `Build` of an image and its descendants, of the newest commits of their branches."""
    return _build(plan, image, {})


def unheard(plan: BuildPlan) -> str:
    """What a person is told of pushes that start nothing, and what is next; empty where all are heard."""
    missing = _missing_triggers(plan)
    if not missing:
        return ""
    count = sum(map(len, missing.values()))
    return (
        f"Cloud Build is not connected to {' and '.join(sorted(missing))}: no push there starts a build, and "
        f"{'1 trigger is' if count == 1 else f'{count} triggers are'} not declared. Schedules and messages start "
        f"builds. Next: {CONNECT}"
    )


def declare_builds(
    plan: BuildPlan,
    accounts: Mapping[str, gcp.serviceaccount.Account],
    image_builder: pulumi.Input[str] | None,
    ready: pulumi.ResourceOptions,
    tokens: pulumi.ResourceOptions,
) -> dict[str, pulumi.Input[Any]]:
    """Declare everything that builds images, and return what the stack says of it.

    accounts: by key, `builder` and `starter` among them. image_builder: the member that GitHub's jobs act as.
    tokens: what connections come after, the secrets that they name among it.
    """
    config, settings = plan.config, plan.settings
    logs = BuildLogs(
        "build-logs",
        BuildLogsArgs(
            project=config.project,
            bucket=names.build_log_bucket(config.bucket.name),
            location=settings.region,
            labels=labels(config),
            keep_days=settings.keep_logs_days,
            writer=accounts["builder"].member,
        ),
        ready,
    )
    args = _sources(plan, accounts["builder"].member)
    sources = BuildSources("build-sources", args, tokens) if args.sources else None
    builds = Builds(
        "builds",
        BuildsArgs(
            project=config.project,
            region=settings.region,
            labels=labels(config),
            builder=accounts["builder"],
            starter=accounts["starter"],
            publishers={} if image_builder is None else {federation.IMAGE_BUILDER[0]: image_builder},
            images=tuple(_image(plan, image, sources.ids if sources else {}) for image in plan.images),
            ready=logs.ready,
        ),
        ready,
    )
    return {
        "region": settings.region,
        "logs": logs.bucket,
        "connections": sources.connections if sources else {},
        "unconnected": _missing_triggers(plan),
        "triggers": builds.triggers,
    }


def _is_built_by(config: StackConfig, image: Image) -> bool:
    registry = image.push.artifact_registry
    return image.builder is Builder.CLOUDBUILD and registry is not None and registry.stack == config.stack


def _missing_triggers(plan: BuildPlan) -> dict[str, list[str]]:
    """The names of the push triggers that wait for a connection, by repository."""
    missing: dict[str, list[str]] = {}
    for image in plan.images:
        for repository in unconnected(plan.spec, image, plan.settings):
            missing.setdefault(repository, []).append(_push_trigger(plan, image, repository))
    return missing


def _push_trigger(plan: BuildPlan, image: Image, repository: str) -> str:
    return names.build_trigger(plan.config.stack, image.name, f"push-{names.source_repository(repository)}")


def _unused(plan: BuildPlan) -> Iterator[Problem]:
    wanted = {repository for image in plan.images for repository in push_sources(plan.spec, image)}
    where = f"stacks/Pulumi.{plan.config.stack}.yaml tidepool:builds.connections"
    for each in plan.settings.connections:
        if each.repository not in wanted:
            rule = "no image of images/images.yaml is built by pushes to this repository; check how it is spelled"
            yield Problem(where, each.repository, rule, "remove it, or say when.push of an image that reads it")


def _sources(plan: BuildPlan, builder: pulumi.Input[str]) -> BuildSourcesArgs:
    config = plan.config
    return BuildSourcesArgs(
        project=config.project,
        region=plan.settings.region,
        builder=builder,
        sources=tuple(
            BuildSource(
                repository=each.repository,
                connection_name=names.source_connection(config.stack, each.repository),
                repository_name=names.source_repository(each.repository),
                installation=access[0],
                token_version=f"projects/{config.project}/secrets/{access[1]}",
                private=each.private,
            )
            for each in plan.settings.connections
            if (access := each.access)
        ),
    )


def _image(plan: BuildPlan, image: Image, ids: Mapping[str, pulumi.Output[str]]) -> ImageBuilds:
    """ids: of the repositories that are connected."""
    stack, family = plan.config.stack, plan.spec.family(image.name)
    told = {
        each.repository: f"$(body.message.attributes.{each.folder}_revision)" for each in checkouts(plan.spec, family)
    }
    schedule = image.when.schedule
    return ImageBuilds(
        image=image.name,
        topic=names.build_topic(stack, image.name),
        message_trigger=names.build_trigger(stack, image.name, "message"),
        message_build=_build(plan, image, told),
        pushes=tuple(
            PushTrigger(
                name=_push_trigger(plan, image, repository),
                repository=repository,
                repository_id=ids[repository],
                branch=image.when.push.branch,
                included_files=files,
                ignored_files=trigger_ignores(plan.spec, repository),
                build=_build(plan, image, {repository: COMMIT}),
            )
            for repository, files in push_sources(plan.spec, image).items()
            if image.when.push and repository in ids
        ),
        clock=Clock(name=names.build_schedule(stack, image.name), cron=schedule.cron, time_zone=schedule.time_zone)
        if schedule
        else None,
        unready=_unready(plan, family),
    )


def _build(plan: BuildPlan, image: Image, revisions: Mapping[str, str]) -> dict[str, Any]:
    config, settings = plan.config, plan.settings
    builder = names.account_email(names.role_account_id(config.stack, "builder"), config.project)
    return build_config(
        plan.spec,
        plan.pins,
        image.name,
        places={each.name: places(each, plan.stacks) for each in plan.spec.images},
        site=Site(
            project=config.project,
            stack=config.stack,
            logs_bucket=names.build_log_bucket(config.bucket.name),
            service_account=builder,
            machine_type=settings.machine_type,
            timeout=settings.timeout,
            disk_gb=settings.disk_gb,
            mirror=hub_mirror(config),
            record_bucket=plan.stacks[record_stack(plan.spec)].bucket.name,
            private={
                each.repository: names.linked_repository(config.project, settings.region, config.stack, each.repository)
                for each in settings.connections
                if each.private
            },
        ),
        bootstrap=plan.first_step,
        revisions=revisions,
    )


def _unready(plan: BuildPlan, family: tuple[Image, ...]) -> str:
    told = []
    if unresolved := plan.pins.unresolved(step_pins(family)):
        told.append(f"{PINS_FILE} does not pin {', '.join(unresolved)}. On a machine with internet: {RESOLVE}")
    read = {each.repository for each in checkouts(plan.spec, family)}
    waiting = (each for each in plan.settings.connections if each.private and not each.access)
    if closed := sorted(each.repository for each in waiting if each.repository in read):
        told.append(f"{', '.join(closed)} is private and not connected, so that no build reads it. Next: {CONNECT}")
    return f"Off: {'; '.join(told)}" if told else ""
