"""Cloud Build v1: triggers, in global and in regions.

Owns their identifiers (a UUID the service makes, beside the name a person gives), updates, and what is refused of one:
it has one source of configuration and one kind of event, and what it refers to exists. Expressions of `filter` are not
evaluated, so they are refused. Owns the language of its file filters too, Go's `filepath.Match` with `**`: `*` is any
run of characters but a slash, `?` one of them, `[a-c]` and `[^a-c]` one of a set, a backslash takes the next character
as it is, and `**` as a whole part any folders, none included. There are no braces, and `!` means nothing: `[!a]` is a
set of two characters. Leaves what a trigger does to `cloudbuild_firing`.
Sources, read 2026-11: cloud.google.com/build/docs/api/reference/rest/v1/projects.triggers,
https://pkg.go.dev/path/filepath#Match and
https://cloud.google.com/build/docs/automating-builds/create-manage-triggers#build_trigger
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from wcmatch import glob

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject, already_exists, invalid
from bench.cloud.services.cloudbuild.builds import ByAge, check_account, check_build, check_keys
from bench.cloud.services.cloudbuild.connections import REPOSITORIES
from bench.cloud.services.cloudbuild.substitutions import check_readable
from bench.cloud.services.pubsub import api as pubsub
from bench.cloud.store import Resource

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?")
_CONFIGS = ("build", "filename", "gitFileSource", "autodetect")
_EVENTS = ("github", "repositoryEventConfig", "pubsubConfig", "webhookConfig", "triggerTemplate")
# RE2, which Cloud Build matches refs with, has neither look-around nor back-references.
_NOT_RE2 = re.compile(r"\(\?<?[=!]|\\[1-9]")
_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
# One item of a pattern: an escaped character, a whole set, a bracket that closes nothing, or any other character.
_ITEM = re.compile(r"\\.|\[(?P<negated>\^?)(?P<set>(?:\\.|[^\]\\])+)\]|(?P<broken>\[|\\\Z)|.", re.DOTALL)
_MEMBER = re.compile(r"\\.|.", re.DOTALL)


class _Triggers(ByAge):
    api = "cloudbuild.projects.locations.triggers"
    elsewhere = ("cloudbuild.projects.triggers",)
    kind = "cloudbuild.trigger"
    mutable = frozenset(
        {"name", "description", "disabled", "tags", "substitutions", "filename", "build", "gitFileSource", "autodetect",
         "sourceToBuild", "github", "repositoryEventConfig", "pubsubConfig", "webhookConfig", "triggerTemplate",
         "includedFiles", "ignoredFiles", "includeBuildLogs", "serviceAccount", "approvalConfig", "filter", "eventType"}
    )  # fmt: skip
    # As the document says and the Google provider relies on.
    mask = "whole"

    def found(self, call: ApiCall) -> Resource:
        """By id, or by the name a person gave. Raises 404."""
        prefix, asked = self.prefix(call), self.id_of(call)
        held = self.find(call.cloud, prefix + asked) or self._called(call.cloud, prefix, asked)
        if held is None:
            raise self.missing(call.cloud, prefix + asked)
        return held

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        prefix, slash, identity = name.rpartition("/")
        before = self.find(cloud, name)
        if before is None:
            body["number"] = cloud.store.next_number(f"{self.kind} order")
        body.setdefault("name", before.body["name"] if before else f"trigger-{identity[:8]}")
        _check(cloud, prefix.removesuffix("/triggers"), body)
        same = self._called(cloud, prefix + slash, body["name"])
        if same is not None and same.name != name:
            raise already_exists(f"{prefix}/{body['name']}")
        return body

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return shown(held)

    def _called(self, cloud: Cloud, prefix: str, name: str) -> Resource | None:
        return next((held for held in cloud.store.each(self.kind, prefix) if held.body["name"] == name), None)


TRIGGERS = _Triggers()


def shown(held: Resource) -> JsonObject:
    body = {key: value for key, value in held.body.items() if key != "number"}
    identity = held.name.rpartition("/")[2]
    if "pubsubConfig" in body:
        project = held.name.split("/")[1]
        subscription = f"projects/{project}/subscriptions/gcb-{body['name']}"
        body["pubsubConfig"] = {**body["pubsubConfig"], "subscription": subscription, "state": "OK"}
    if "repositoryEventConfig" in body:
        body["repositoryEventConfig"] = {**body["repositoryEventConfig"], "repositoryType": "GITHUB"}
    return {"resourceName": held.name, "id": identity, "createTime": timestamp(held.created), **body}


def _check(cloud: Cloud, parent: str, body: JsonObject) -> None:
    """parent: `projects/P/locations/L`. Raises 400, or 404 for what a trigger refers to."""
    if not _NAME.fullmatch(body["name"]):
        raise invalid(
            f"Invalid trigger name '{body['name']}': it must hold 1 to 64 letters, digits and dashes, and begin and "
            "end with a letter or digit.",
            field="trigger.name",
        )
    configs = [key for key in _CONFIGS if key in body]
    if len(configs) != 1:
        raise invalid("Exactly one of build, filename, git_file_source and autodetect must be set.", field="trigger")
    events = [key for key in _EVENTS if key in body]
    if len(events) > 1:
        raise invalid(f"A trigger answers one kind of event, not {' and '.join(events)}.", field="trigger")
    if "filter" in body:
        raise ApiError(501, "The local cloud does not evaluate 'filter' of a trigger; leave it out.")
    check_keys(body.get("substitutions", {}), "trigger.substitutions")
    check_readable(list(body.get("substitutions", {}).values()))
    for key in ("includedFiles", "ignoredFiles"):
        for pattern in body.get(key, []):
            if why := glob_problem(pattern):
                raise invalid(f"{why}.", field=f"trigger.{key}")
    if "build" in body:
        check_build(body["build"] | {key: body[key] for key in ("serviceAccount",) if key in body})
    check_account(cloud, parent, body.get("serviceAccount", ""))
    if "repositoryEventConfig" in body:
        _check_repository(cloud, parent, body["repositoryEventConfig"])
    if "github" in body:
        _check_event("trigger.github", body["github"])
    if "pubsubConfig" in body:
        pubsub.TOPICS.named(cloud, body["pubsubConfig"].get("topic", ""))


def _check_repository(cloud: Cloud, parent: str, config: JsonObject) -> None:
    name = config.get("repository", "")
    if not name.startswith(f"{parent}/connections/"):
        raise invalid(
            f"The repository '{name}' is not of '{parent}': a trigger answers repositories of its own location.",
            field="trigger.repository_event_config.repository",
        )
    REPOSITORIES.named(cloud, name)
    _check_event("trigger.repository_event_config", config)


def _check_event(field: str, config: JsonObject) -> None:
    if ("push" in config) == ("pullRequest" in config):
        raise invalid("Exactly one of push and pull_request must be set.", field=field)
    refs = config.get("push") or config["pullRequest"]
    patterns = [refs[key] for key in ("branch", "tag") if key in refs]
    if len(patterns) != 1:
        raise invalid("Exactly one of branch and tag must be set.", field=field)
    if why := _wrong_with(patterns[0]):
        raise invalid(f"Invalid regular expression '{patterns[0]}': {why}.", field=field)


def _wrong_with(pattern: str) -> str:
    if _NOT_RE2.search(pattern):
        return "RE2 has neither look-around nor back-references"
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return ""


def glob_problem(pattern: str) -> str | None:
    """Why Go refuses a pattern; None when it takes it."""
    if any(item["broken"] for item in _ITEM.finditer(pattern)):
        return f"syntax error in pattern '{pattern}'"
    return None


def matches(path: str, pattern: str) -> bool:
    """Whether a path from the top of a repository is one that the pattern names."""
    return _compiled(pattern).match(path)


def passing(changed: Iterable[str], *, included: Sequence[str], ignored: Sequence[str]) -> list[str]:
    """The changed files for which a trigger with these filters starts a build; none where the filters leave none."""
    kept = [path for path in changed if not any(matches(path, pattern) for pattern in ignored)]
    if not included:
        return kept
    return [path for path in kept if any(matches(path, pattern) for pattern in included)]


@cache
def _compiled(pattern: str) -> glob.WcMatcher[str]:
    return glob.compile(_ITEM.sub(_translated, pattern), flags=_FLAGS)


def _translated(item: re.Match[str]) -> str:
    """A set with every member that wcmatch would read as more than a character escaped."""
    if item["set"] is None:
        return item[0]
    members = (member if member == "-" or len(member) > 1 else f"\\{member}" for member in _MEMBER.findall(item["set"]))
    return f"[{'^' if item['negated'] else ''}{''.join(members)}]"
