"""What starts builds: a push to a linked repository, a message to a topic, and a person who runs a trigger.

Owns which triggers an event is for and what a build is told of it. A trigger whose configuration lies in a file of the
repository ends at once, since the local cloud keeps no files of repositories.
Sources, read 2026-11-21: https://cloud.google.com/build/docs/automating-builds/create-manage-triggers and
https://cloud.google.com/build/docs/automating-builds/automate-builds-pubsub-events
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services.cloudbuild import builds, connections
from bench.cloud.services.cloudbuild.substitutions import Heard
from bench.cloud.services.cloudbuild.triggers import TRIGGERS, passing
from bench.cloud.services.pubsub import api as pubsub
from bench.cloud.store import Resource

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


@dataclass(frozen=True, slots=True)
class TriggerOutcome:
    """What a push did to a trigger of its repository: the build it made, or why there is none."""

    trigger: Resource
    build: Resource | None
    reason: str


def on_push(cloud: Cloud, push: PushedCommits) -> list[TriggerOutcome]:
    """Let every push trigger of the repository look at a push, in the order in which they were made."""
    note(cloud, push.repository, push.branch or push.tag, push.commit)
    return [_answered(cloud, trigger, push, refs) for trigger, refs in _of_repository(cloud, push.repository)]


def on_message(cloud: Cloud, topic: str, message: JsonObject) -> None:
    """Start every trigger that listens to a topic."""
    for trigger in _each(cloud):
        listens = trigger.body.get("pubsubConfig", {}).get("topic") == topic
        if listens and not trigger.body.get("disabled"):
            _start(cloud, trigger, message=message)


pubsub.LISTENERS.append(on_message)


@handles("cloudbuild.projects.triggers.run", "cloudbuild.projects.locations.triggers.run")
def run_trigger(call: ApiCall) -> JsonObject:
    """Whether the trigger is disabled or not, and whatever it listens to."""
    trigger = TRIGGERS.found(call)
    source = call.body if call.method == "cloudbuild.projects.triggers.run" else call.body.get("source", {})
    own = source.get("substitutions", {})
    repository = _repository(call.cloud, trigger)
    if not repository:
        return builds.operation(_start(call.cloud, trigger, own=own))
    branch, tag = source.get("branchName", ""), source.get("tagName", "")
    commit = source.get("commitSha") or (head(call.cloud, repository, branch or tag) if branch or tag else "")
    if not commit:
        raise invalid("Nothing says what to build: name a branch, a tag or a commit.", field="source")
    push = PushedCommits(repository=repository, commit=commit, changed=(), branch=branch, tag=tag)
    return builds.operation(_start(call.cloud, trigger, push=push, own=own))


def note(cloud: Cloud, repository: str, ref: str, commit: str) -> None:
    """Remember that a branch or tag is at a commit now."""
    commits = [each for each in history(cloud, repository, ref) if each[0] != commit]
    commits.append((commit, int(cloud.now)))
    cloud.store.set_setting(f"head/{repository}/{ref}", commit)
    cloud.store.set_setting(f"history/{repository}/{ref}", json.dumps(commits))


def history(cloud: Cloud, repository: str, ref: str) -> list[tuple[str, int]]:
    """Every commit that a branch or tag was at by a push here, oldest first, and the second that it came."""
    found = json.loads(cloud.store.setting(f"history/{repository}/{ref}") or "[]")
    return [(commit, seconds) for commit, seconds in found]


def head(cloud: Cloud, repository: str, ref: str) -> str:
    """The commit that a branch or tag was last pushed to; a made-up one where nobody pushed."""
    return cloud.store.setting(f"head/{repository}/{ref}") or made_up(f"{repository} {ref}")


def made_up(seed: str) -> str:
    """Forty hexadecimal digits for a commit that has no repository; the same for the same seed."""
    return hashlib.sha256(seed.encode()).hexdigest()[:40]


def _each(cloud: Cloud) -> list[Resource]:
    return sorted(cloud.store.each(TRIGGERS.kind), key=lambda held: held.body["number"])


def _of_repository(cloud: Cloud, repository: str) -> Iterator[tuple[Resource, JsonObject]]:
    for trigger in _each(cloud):
        event = trigger.body.get("repositoryEventConfig") or trigger.body.get("github") or {}
        if "push" in event and _repository(cloud, trigger).lower() == repository.lower():
            yield trigger, event["push"]


def _repository(cloud: Cloud, trigger: Resource) -> str:
    """`owner/name` of the repository that a trigger answers; empty where it answers none, or one that is gone."""
    if github := trigger.body.get("github"):
        return f"{github.get('owner', '')}/{github.get('name', '')}"
    linked = connections.REPOSITORIES.find(cloud, trigger.body.get("repositoryEventConfig", {}).get("repository", ""))
    return connections.github_name(linked) if linked else ""


def _answered(cloud: Cloud, trigger: Resource, push: PushedCommits, refs: JsonObject) -> TriggerOutcome:
    reason = _against(cloud, trigger, push, refs)
    if reason:
        return TriggerOutcome(trigger, None, reason)
    files = passing(
        push.changed,
        included=trigger.body.get("includedFiles", ()),
        ignored=trigger.body.get("ignoredFiles", ()),
    )
    filtered = "includedFiles" in trigger.body or "ignoredFiles" in trigger.body
    if filtered and not files:
        return TriggerOutcome(trigger, None, "no changed file passes its filters")
    return TriggerOutcome(
        trigger, _start(cloud, trigger, push=push), f"changed: {', '.join(files)}" if filtered else "any file"
    )


def _against(cloud: Cloud, trigger: Resource, push: PushedCommits, refs: JsonObject) -> str:
    """Why a push is not for a trigger, before its files are looked at; empty when it is."""
    if trigger.body.get("disabled"):
        return "the trigger is disabled"
    name = trigger.body.get("repositoryEventConfig", {}).get("repository")
    if name and connections.connection_of(cloud, connections.REPOSITORIES.named(cloud, name)).body.get("disabled"):
        return "its connection is disabled"
    kind, ref = ("branch", push.branch) if push.branch else ("tag", push.tag)
    if kind not in refs:
        return f"it answers no {kind}"
    # RE2 searches, so that `main` also stands for `maintenance`; the anchors are a person's.
    if bool(re.search(refs[kind], ref)) == refs.get("invertRegex", False):
        return f"{kind} {ref} is not one of its"
    return ""


def _start(
    cloud: Cloud,
    trigger: Resource,
    *,
    push: PushedCommits | None = None,
    own: Mapping[str, str] | None = None,
    message: JsonObject | None = None,
) -> Resource:
    body, parent = trigger.body, trigger.name.partition("/triggers/")[0]
    identity = trigger.name.rpartition("/")[2]
    template = body.get("build", {})
    account = body.get("serviceAccount") or template.get("serviceAccount", "")
    builtin = {
        "TRIGGER_NAME": body["name"],
        "TRIGGER_BUILD_CONFIG_PATH": body.get("filename", ""),
        **({"SERVICE_ACCOUNT": account, "SERVICE_ACCOUNT_EMAIL": account.rpartition("/")[2]} if account else {}),
        **(push.known if push else {}),
    }
    more: JsonObject = {"buildTriggerId": identity, "serviceTags": [f"trigger-{identity}"], **_source(trigger, push)}
    if account:
        more["serviceAccount"] = account
    if body.get("approvalConfig", {}).get("approvalRequired"):
        more |= {"status": "PENDING", "approval": {"state": "PENDING", "config": body["approvalConfig"]}}
    if "build" not in body:
        why = "the local cloud keeps no files of repositories, so it cannot read a build configuration from one"
        more |= {"status": "FAILURE", "statusDetail": why, "finishTime": timestamp(cloud.now)}
        more["failureInfo"] = {"type": "FETCH_SOURCE_FAILED", "detail": why}
    return builds.add(
        cloud,
        parent,
        {**template, "options": {**template.get("options", {}), **_TRIGGERED}},
        own={**template.get("substitutions", {}), **body.get("substitutions", {}), **(own or {})},
        builtin={key: value for key, value in builtin.items() if value},
        heard=Heard(message, body.get("substitutions", {}).keys()) if message else None,
        more=more,
    )


def _source(trigger: Resource, push: PushedCommits | None) -> JsonObject:
    if push is None:
        return {}
    if config := trigger.body.get("repositoryEventConfig"):
        source = {"repository": config["repository"], "revision": push.commit}
        return {
            "source": {"connectedRepository": source},
            "sourceProvenance": {"resolvedConnectedRepository": source},
        }
    url = f"https://github.com/{push.repository}.git"
    return {"source": {"gitSource": {"url": url, "revision": push.commit}}}
