"""Which runs of GitHub Actions act as which account: the mapping, the condition and the members, as plain text.

Owns what a token of GitHub must say to be let in and to act. Makes nothing (components). Claims and their meaning:
docs.github.com/actions/reference/security/oidc; expressions: cloud.google.com/iam/docs/workload-identity-federation,
both read 2026-11.
"""

from __future__ import annotations

from typing import Final

from infra.model.schema import GitHub

ISSUER: Final = "https://token.actions.githubusercontent.com"
PROVIDER_ID: Final = "github"
MAIN: Final = "refs/heads/main"

DEPLOYER: Final = ("tidepool-deployer", "Deploys Tidepool's stacks; has no key")
PREVIEWER: Final = ("tidepool-previewer", "Reads what previews of Tidepool's stacks compare; changes nothing")
"""Account id and description. Their roles on the project are given by whoever owns it, never by a stack."""

EVENTS: Final = ("pull_request", "push", "schedule", "workflow_dispatch")
"""Runs that are let in. `pull_request_target` and `workflow_run` are not: they carry the main branch's ref while they
work for whoever opened a pull request."""

MAPPING: Final = {
    "google.subject": "assertion.sub",
    "attribute.repository": "assertion.repository",
    "attribute.preview": (
        "assertion.repository + '/' + (assertion.event_name == 'pull_request' ? 'pull_request' : assertion.ref)"
    ),
    "attribute.deployment": (
        "assertion.repository + '/' + (has(assertion.environment) ? assertion.environment : '') + '/' + assertion.ref"
    ),
}
"""A member names one attribute, so whatever must hold together is one attribute. A token has no claim `environment`
unless its job names one."""


def condition(github: GitHub) -> str:
    """What every token must say, whatever it is used for."""
    said = [f"assertion.repository == '{github.repository}'"]
    if github.repository_id is not None:
        said.append(f"assertion.repository_id == '{github.repository_id}'")
    said.append(f"assertion.event_name in [{', '.join(repr(event) for event in EVENTS)}]")
    return " && ".join(said)


def preview_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may read: pull requests of the repository's own branches, and its main branch."""
    return tuple(f"attribute.preview/{github.repository}/{what}" for what in ("pull_request", MAIN))


def deployment_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may apply: the main branch, in one of the environments."""
    return tuple(f"attribute.deployment/{github.repository}/{name}/{MAIN}" for name in github.environments)
