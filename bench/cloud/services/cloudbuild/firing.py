"""What starts builds: a push to a linked repository, a message to a topic, and a person who runs a trigger.

Owns which triggers an event is for and what a build is told of it.
Sources, read 2026-11-21: https://cloud.google.com/build/docs/automating-builds/create-manage-triggers and
https://cloud.google.com/build/docs/automating-builds/automate-builds-pubsub-events
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject
from bench.cloud.services.cloudbuild import builds, connections
from bench.cloud.services.cloudbuild.substitutions import bound
from bench.cloud.services.cloudbuild.triggers import TRIGGERS
from bench.cloud.services.pubsub import api as pubsub
from bench.cloud.store import Resource
from infra.model.images.globs import first_match

# What the service sets for every build that a trigger starts, whatever its configuration says.
_TRIGGERED = {"substitutionOption": "ALLOW_LOOSE", "dynamicSubstitutions": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedCommits:
    """Commits that came to a branch, or a tag that did. repository: `owner/name`. changed: files of these commits."""

    repository: str
    commit: str
    changed: Sequence[str]
    branch: str = ""
    tag: str = ""

    @property
    def known(self) -> dict[str, str]:
        """What a build is told of it."""
        name = {"BRANCH_NAME": self.branch} if self.branch else {"TAG_NAME": self.tag}
        return {
            **name,
            "REF_NAME": self.branch or self.tag,
            "COMMIT_SHA": self.commit,
            "REVISION_ID": self.commit,
            "SHORT_SHA": self.commit[:7],
            "REPO_FULL_NAME": self.repository,
            "REPO_NAME": self.repository.partition("/")[2],
        }


# A trigger, the build that a push made of it, and why, or why there is none.
Outcome: TypeAlias = tuple[Resource, Resource | None, str]


def on_push(cloud: Cloud, push: PushedCommits) -> list[Outcome]:
    """Let every push trigger of the repository look at a push, in the order in which they were made."""
    note(cloud, push.repository, push.branch or push.tag, push.commit)
    wanted = push.repository.lower()
    return [_answered(cloud, each, push) for each in _each(cloud) if _repository(cloud, each).lower() == wanted]


def on_message(cloud: Cloud, topic: str, message: JsonObject) -> None:
    """Start every trigger that listens to a topic."""
    for trigger in _each(cloud):
        listens = trigger.body.get("pubsubConfig", {}).get("topic") == topic
        if listens and not trigger.body.get("disabled"):
            _start(cloud, trigger, own=bound(trigger.body.get("substitutions", {}), message))


pubsub.LISTENERS.append(on_message)


@handles("cloudbuild.projects.locations.triggers.run")
def run_trigger(call: ApiCall) -> JsonObject:
    """Whether the trigger is disabled or not, and whatever it listens to."""
    trigger = TRIGGERS.found(call)
    source = call.body.get("source", {})
    own = source.get("substitutions", {})
    repository = _repository(call.cloud, trigger)
    if not repository:
        return builds.operation(_start(call.cloud, trigger, own=own))
    branch, tag = source.get("branchName", ""), source.get("tagName", "")
    commit = source.get("commitSha") or head(call.cloud, repository, branch or tag)
    push = PushedCommits(repository=repository, commit=commit, changed=(), branch=branch, tag=tag)
    return builds.operation(_start(call.cloud, trigger, push=push, own=own))


def note(cloud: Cloud, repository: str, ref: str, commit: str) -> None:
    """Remember that a branch or tag is at a commit now."""
    commits = [each for each in history(cloud, repository, ref) if each[0] != commit]
    cloud.store.set_setting(f"history/{repository}/{ref}", [*commits, (commit, int(cloud.now))])


def history(cloud: Cloud, repository: str, ref: str) -> list[tuple[str, int]]:
    """Every commit that a branch or tag was at by a push here, oldest first, and the second that it came."""
    return cloud.store.setting(f"history/{repository}/{ref}", [])


def head(cloud: Cloud, repository: str, ref: str) -> str:
    """The commit that a branch or tag was last pushed to; a made-up one where nobody pushed."""
    pushed = history(cloud, repository, ref)
    return pushed[-1][0] if pushed else made_up(f"{repository} {ref}")


def made_up(seed: str) -> str:
    """Forty hexadecimal digits for a commit that has no repository; the same for the same seed."""
    return hashlib.sha256(seed.encode()).hexdigest()[:40]


def _each(cloud: Cloud) -> list[Resource]:
    return sorted(cloud.store.each(TRIGGERS.kind), key=lambda held: held.created)


def _repository(cloud: Cloud, trigger: Resource) -> str:
    """`owner/name` of the repository that a trigger answers; empty where it answers none, or one that is gone."""
    linked = connections.REPOSITORIES.find(cloud, trigger.body.get("repositoryEventConfig", {}).get("repository", ""))
    return linked.body["remoteUri"].removeprefix("https://github.com/").removesuffix(".git") if linked else ""


def _answered(cloud: Cloud, trigger: Resource, push: PushedCommits) -> Outcome:
    """Start a build where the push is for the trigger; else say why there is none."""
    body, config = trigger.body, trigger.body["repositoryEventConfig"]
    included, ignored, refs = body.get("includedFiles", ()), body.get("ignoredFiles", ()), config["push"]
    kind, ref = ("branch", push.branch) if push.branch else ("tag", push.tag)
    kept = [each for each in push.changed if not first_match(each, ignored)]
    files = [each for each in kept if not included or first_match(each, included)]
    against = ""
    if body.get("disabled"):
        against = "the trigger is disabled"
    elif kind not in refs:
        against = f"it answers no {kind}"
    # RE2 searches, so that `main` also stands for `maintenance`; the anchors are a person's.
    elif not re.search(refs[kind], ref):
        against = f"{kind} {ref} is not one of its"
    elif (included or ignored) and not files:
        against = "no changed file passes its filters"
    if against:
        return trigger, None, against
    reason = f"changed: {', '.join(files)}" if included or ignored else "any file"
    return trigger, _start(cloud, trigger, push=push), reason


def _start(
    cloud: Cloud,
    trigger: Resource,
    *,
    push: PushedCommits | None = None,
    own: Mapping[str, str] | None = None,
) -> Resource:
    body, (parent, _, identity) = trigger.body, trigger.name.partition("/triggers/")
    template = body["build"]
    account = body.get("serviceAccount") or template.get("serviceAccount", "")
    builtin = {
        "TRIGGER_NAME": body["name"],
        **(push.known if push else {}),
    }
    more: JsonObject = {"buildTriggerId": identity, **({"serviceAccount": account} if account else {})}
    if push is not None:
        source = {"repository": body["repositoryEventConfig"]["repository"], "revision": push.commit}
        more |= {
            "source": {"connectedRepository": source},
            "sourceProvenance": {"resolvedConnectedRepository": source},
        }
    template |= {
        "options": {**template.get("options", {}), **_TRIGGERED},
        "tags": [*template.get("tags", []), f"trigger-{identity}"],
    }
    return builds.add(
        cloud,
        parent,
        template,
        own={**template.get("substitutions", {}), **body.get("substitutions", {}), **(own or {})},
        builtin=builtin,
        **more,
    )
