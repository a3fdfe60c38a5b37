"""What starts a build: triggers of Cloud Build for pushes and for messages, topics for these, and a clock.

Owns topics, who may publish to them, triggers and scheduled jobs. Leaves what a build does to the body that it is given
(`infra.model.images.cloudbuild`) and repositories to `build_sources`. Nothing here needs a role on the project: a
schedule, a workflow or a person publishes a message, and Cloud Build hears it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp

PUBLISHER: Final = "roles/pubsub.publisher"
_BUILD: Final = frozenset(
    {"logsBucket", "options", "queueTtl", "serviceAccount", "steps", "substitutions", "tags", "timeout"}
)
_STEP: Final = frozenset({"args", "entrypoint", "env", "id", "name", "script", "timeout", "waitFor"})
_OPTIONS: Final = frozenset({"diskSizeGb", "env", "logging", "machineType"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTrigger:
    """Pushes to one branch of one source repository that touch an included file which is not an ignored one.

    repository_id: its full name at Cloud Build. build: a `Build` in REST spelling.
    """

    name: str
    repository: str
    repository_id: pulumi.Input[str]
    branch: str
    included_files: tuple[str, ...]
    ignored_files: tuple[str, ...]
    build: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Times at which a message is published: a cron in a time zone."""

    name: str
    cron: str
    time_zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuilds:
    """Everything that starts builds of one image.

    message_build: what a message starts. unready: why no build may start now and what mends that; empty where none is.
    """

    image: str
    topic: str
    message_trigger: str
    message_build: Mapping[str, Any]
    pushes: tuple[PushTrigger, ...]
    clock: Clock | None = None
    unready: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildsArgs:
    """builder: the account that builds run as. starter: the one that hands messages to Cloud Build.

    publishers: IAM members that may start a build, by the name that says who. ready: what a build needs to be there.
    """

    project: str
    region: str
    labels: dict[str, str]
    builder: gcp.serviceaccount.Account
    starter: gcp.serviceaccount.Account
    publishers: Mapping[str, pulumi.Input[str]]
    images: tuple[ImageBuilds, ...]
    ready: list[pulumi.Resource]


class Builds(pulumi.ComponentResource):
    """Triggers by image: the topic that starts a build, and the names of its triggers."""

    triggers: pulumi.Output[Mapping[str, Any]]

    def __init__(self, name: str, args: BuildsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:builds:Builds", name, None, opts)
        self.triggers = pulumi.Output.all(**{each.image: self._image(args, each) for each in args.images})
        self.register_outputs({"triggers": self.triggers})

    def _image(self, args: BuildsArgs, image: ImageBuilds) -> pulumi.Output[dict[str, Any]]:
        topic = gcp.pubsub.Topic(
            image.topic,
            project=args.project,
            name=image.topic,
            labels={**args.labels, "tidepool-image": image.image},
            opts=pulumi.ResourceOptions(parent=self),
        )
        for who, member in args.publishers.items():
            gcp.pubsub.TopicIAMMember(
                f"{who}-starts-{image.image}",
                project=args.project,
                topic=topic.name,
                role=PUBLISHER,
                member=member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        triggers = [
            self._trigger(
                args,
                image,
                image.message_trigger,
                f"{image.image}: on a message to {image.topic}",
                image.message_build,
                pubsub_config=gcp.cloudbuild.TriggerPubsubConfigArgs(
                    topic=topic.id, service_account_email=args.starter.email
                ),
                # Cloud Build reads payloads in the trigger's own substitutions, not in the build's.
                substitutions=dict(image.message_build["substitutions"]) or None,
            )
        ]
        triggers += [self._push_trigger(args, image, push) for push in image.pushes]
        if image.clock is not None:
            gcp.cloudscheduler.Job(
                image.clock.name,
                project=args.project,
                region=args.region,
                name=image.clock.name,
                description=f"Builds {image.image}",
                schedule=image.clock.cron,
                time_zone=image.clock.time_zone,
                # A message has data or an attribute; what is not said of commits means the branches' newest.
                pubsub_target=gcp.cloudscheduler.JobPubsubTargetArgs(
                    topic_name=topic.id, attributes={"started_by": image.clock.name}
                ),
                opts=pulumi.ResourceOptions(parent=self),
            )
        return pulumi.Output.all(topic=topic.id, triggers=pulumi.Output.all(*(each.name for each in triggers)))

    def _push_trigger(self, args: BuildsArgs, image: ImageBuilds, push: PushTrigger) -> gcp.cloudbuild.Trigger:
        branch = gcp.cloudbuild.TriggerRepositoryEventConfigPushArgs(branch=f"^{_quoted(push.branch)}$")
        return self._trigger(
            args,
            image,
            push.name,
            f"{image.image}: on a push to {push.branch} of {push.repository}",
            push.build,
            included_files=list(push.included_files),
            ignored_files=list(push.ignored_files) or None,
            repository_event_config=gcp.cloudbuild.TriggerRepositoryEventConfigArgs(
                repository=push.repository_id, push=branch
            ),
        )

    def _trigger(
        self,
        args: BuildsArgs,
        image: ImageBuilds,
        name: str,
        description: str,
        build: Mapping[str, Any],
        **started: Any,
    ) -> gcp.cloudbuild.Trigger:
        return gcp.cloudbuild.Trigger(
            name,
            project=args.project,
            location=args.region,
            name=name,
            description=f"{description}. {image.unready}" if image.unready else description,
            disabled=bool(image.unready),
            service_account=args.builder.name,
            tags=list(build["tags"]),
            build=_build(build),
            **started,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.ready),
        )


def _quoted(branch: str) -> str:
    """A branch as RE2 matches it and nothing else: names of branches may have dots."""
    return branch.replace(".", "\\.")


def _build(body: Mapping[str, Any]) -> gcp.cloudbuild.TriggerBuildArgs:
    """A `Build` in the provider's spelling. The account is said once, by the trigger."""
    _insist("a build", body, _BUILD)
    options = body["options"]
    _insist("a build's options", options, _OPTIONS)
    return gcp.cloudbuild.TriggerBuildArgs(
        steps=[_step(step) for step in body["steps"]],
        timeout=body["timeout"],
        queue_ttl=body["queueTtl"],
        logs_bucket=body["logsBucket"],
        tags=list(body["tags"]),
        substitutions=dict(body["substitutions"]) or None,
        options=gcp.cloudbuild.TriggerBuildOptionsArgs(
            machine_type=options["machineType"],
            disk_size_gb=int(options["diskSizeGb"]),
            logging=options["logging"],
            envs=list(options["env"]),
        ),
    )


def _step(step: Mapping[str, Any]) -> gcp.cloudbuild.TriggerBuildStepArgs:
    _insist(f"step {step['id']}", step, _STEP)
    return gcp.cloudbuild.TriggerBuildStepArgs(
        id=step["id"],
        name=step["name"],
        entrypoint=step.get("entrypoint"),
        args=step.get("args"),
        script=step.get("script"),
        envs=step.get("env"),
        timeout=step.get("timeout"),
        wait_fors=step["waitFor"],
    )


def _insist(what: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Nothing of a build is left out in silence."""
    if unknown := sorted(given.keys() - known):
        raise ValueError(f"{what} has {', '.join(unknown)}, which this component does not hand on to a trigger")
