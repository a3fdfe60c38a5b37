"""What Cloud Build refuses of a trigger or a build before it keeps it.

Owns the rules of the service that a client depends on: one source of configuration, one kind of event, substitution
keys, logging with an account of one's own, and that what is referred to exists.
Source: cloud.google.com/build/docs/api/reference/rest/v1/projects.triggers and .../build-config-file-schema, read
2026-11. Expressions of `filter` are not evaluated, so they are refused.
"""

from __future__ import annotations

import re

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, invalid, not_found
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.services import cloudbuild_globs, cloudbuild_names, cloudbuild_substitutions, pubsub_topics
from infra.local.cloud.services.cloudbuild_connections import REPOSITORY
from infra.local.cloud.services.policies import SERVICE_ACCOUNT_KIND, account_name

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?")
_KEY = re.compile(r"_[A-Z0-9_]+")
_CONFIGS = ("build", "filename", "gitFileSource", "autodetect")
_EVENTS = ("github", "repositoryEventConfig", "pubsubConfig", "webhookConfig", "triggerTemplate")
_ACCOUNT = re.compile(r"projects/([^/]+)/serviceAccounts/([^/@]+@[^/]+)")
_OWN_LOGGING = frozenset({"CLOUD_LOGGING_ONLY", "NONE"})
# RE2, which Cloud Build matches refs with, has neither look-around nor back-references.
_NOT_RE2 = re.compile(r"\(\?<?[=!]|\\[1-9]")


def check_trigger(cloud: Cloud, parent: str, body: JsonObject) -> None:
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
    _check_keys(body.get("substitutions", {}), "trigger.substitutions")
    cloudbuild_substitutions.check_readable(list(body.get("substitutions", {}).values()))
    for key in ("includedFiles", "ignoredFiles"):
        for pattern in body.get(key, []):
            if why := cloudbuild_globs.problem(pattern):
                raise invalid(f"{why}.", field=f"trigger.{key}")
    if "build" in body:
        check_build(body["build"] | {key: body[key] for key in ("serviceAccount",) if key in body})
    check_account(cloud, cloudbuild_names.project_of(parent), body.get("serviceAccount", ""))
    if "repositoryEventConfig" in body:
        _check_repository(cloud, parent, body["repositoryEventConfig"])
    if "github" in body:
        _check_event("trigger.github", body["github"])
    if "pubsubConfig" in body:
        pubsub_topics.find(cloud, body["pubsubConfig"].get("topic", ""))


def check_build(build: JsonObject) -> None:
    """Steps, substitution keys, and a place for the logs of an account of one's own. Raises 400."""
    steps = build.get("steps", [])
    if not steps:
        raise invalid("build.steps: at least one step is required.", field="build.steps")
    seen: set[str] = set()
    for at, step in enumerate(steps):
        where = f"build.steps[{at}]"
        if not step.get("name"):
            raise invalid(f"invalid build step {at}: a name is required.", field=f"{where}.name")
        if "script" in step and ("entrypoint" in step or "args" in step):
            raise invalid(f"build step {at} has a script, so neither entrypoint nor args.", field=f"{where}.script")
        if unknown := [each for each in step.get("waitFor", []) if each != "-" and each not in seen]:
            raise invalid(f"build step {at} waits for '{unknown[0]}', which no step before it is.", field=where)
        if step.get("id") in seen:
            raise invalid(f"the step id '{step['id']}' is given twice.", field=f"{where}.id")
        seen.add(step.get("id", ""))
    _check_keys(build.get("substitutions", {}), "build.substitutions")
    cloudbuild_substitutions.check_readable([build, list(build.get("substitutions", {}).values())])
    options = build.get("options", {})
    if (
        build.get("serviceAccount")
        and not build.get("logsBucket")
        and options.get("logging") not in _OWN_LOGGING
        and options.get("defaultLogsBucketBehavior") != "REGIONAL_USER_OWNED_BUCKET"
    ):
        raise invalid(
            "if 'build.service_account' is specified, the build must either (a) specify 'build.logs_bucket', (b) use "
            "the REGIONAL_USER_OWNED_BUCKET build.options.default_logs_bucket_behavior option, or (c) use either "
            "CLOUD_LOGGING_ONLY / NONE logging options",
            field="build.service_account",
        )


def check_account(cloud: Cloud, project: str, account: str) -> None:
    """Raises 400 for a malformed name, and 404 for an account of the project that does not exist."""
    if not account:
        return
    found = _ACCOUNT.fullmatch(account)
    if found is None:
        raise invalid(f"Invalid service account '{account}': write projects/PROJECT/serviceAccounts/EMAIL.")
    email = found[2]
    if not email.endswith(f"@{project}.iam.gserviceaccount.com"):
        return
    name = account_name(project, email)
    if cloud.store.find(SERVICE_ACCOUNT_KIND, name) is None:
        raise not_found(name)


def _check_repository(cloud: Cloud, parent: str, config: JsonObject) -> None:
    name = config.get("repository", "")
    if not name.startswith(f"{parent}/connections/"):
        raise invalid(
            f"The repository '{name}' is not of '{parent}': a trigger answers repositories of its own location.",
            field="trigger.repository_event_config.repository",
        )
    if cloud.store.find(REPOSITORY, name) is None:
        raise not_found(name)
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


def _check_keys(substitutions: JsonObject, field: str) -> None:
    for key in substitutions:
        if not _KEY.fullmatch(key):
            raise invalid(
                f"substitution key '{key}' must begin with an underscore and hold capital letters, digits and "
                "underscores.",
                field=field,
            )
