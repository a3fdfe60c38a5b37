"""Which runs of GitHub Actions act as which account: the mapping, the condition and the members, as plain text.

Owns what a token of GitHub must say to be let in and to act. Makes nothing (components). Claims and their meaning:
docs.github.com/actions/reference/security/oidc; expressions: cloud.google.com/iam/docs/workload-identity-federation,
both read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from infra.model.schema import GitHub

ISSUER: Final = "https://token.actions.githubusercontent.com"
PROVIDER_ID: Final = "github"
MAIN: Final = "refs/heads/main"

DEPLOYER: Final = ("tidepool-deployer", "Deploys Tidepool's stacks; has no key")
PREVIEWER: Final = ("tidepool-previewer", "Reads what previews of Tidepool's stacks compare; changes nothing")
"""Account id and description. Their roles on the project are given by whoever owns it, never by a stack."""

IMAGE_BUILDER: Final = ("image-builder", "Builds images in GitHub's jobs; has no key")
"""Role and description. Its account id carries the stack's name, since the images and the bucket are a stack's."""
WORKFLOWS: Final = ".github/workflows"
IMAGES_WORKFLOW: Final = f"{WORKFLOWS}/docker-images.yaml"
"""The one workflow, of the repository with the recipes and of those with sources, whose jobs build images."""

RUN_MAKER: Final = ("run-maker", "Makes TPU VMs for single runs of GitHub's jobs; has no key")
"""Role and description. Its rights on TPU VMs are given by whoever owns the project: they exist for a project alone."""

EVENTS: Final = ("pull_request", "push", "schedule", "workflow_dispatch")
"""Runs that are let in. `pull_request_target` and `workflow_run` are not: they carry the main branch's ref while they
work for whoever opened a pull request."""

BUILD_EVENTS: Final = ("push", "schedule", "workflow_dispatch")
"""Of these, the runs that build images or make VMs: none of them works for a stranger."""

MAPPING: Final = {
    "google.subject": "assertion.sub",
    "attribute.repository": "assertion.repository",
    "attribute.preview": (
        "assertion.repository + '/' + (assertion.event_name == 'pull_request' ? 'pull_request' : assertion.ref)"
    ),
    "attribute.workflow": "assertion.workflow_ref",
    "attribute.deployment": (
        "assertion.repository + '/' + (has(assertion.environment) ? assertion.environment : '') + '/' + assertion.ref"
    ),
}
"""A member names one attribute, so whatever must hold together is one attribute. A token has no claim `environment`
unless its job names one."""


def condition(github: GitHub, sources: Sequence[str] = ()) -> str:
    """What every token must say, whatever it is used for.

    sources: repositories whose workflow of images is let in besides, from their main branch alone, as are those that
    make VMs for runs. That of `github` itself needs no such leave; who acts as which account is for its attributes.
    """
    own = _own(github)
    if not sources and not github.run_makers:
        return own
    repositories = dict.fromkeys((*sources, *(each.repository for each in github.run_makers)))
    workflows = _listed((*_image_workflows(sources), *_run_workflows(github)))
    from_outside = (
        f"assertion.repository in {_listed(repositories)} && assertion.ref == '{MAIN}'"
        f" && assertion.workflow_ref in {workflows} && assertion.event_name in {_listed(BUILD_EVENTS)}"
    )
    return f"({own}) || ({from_outside})"


def _image_workflows(sources: Sequence[str]) -> Iterator[str]:
    """References of the workflows that build images, as tokens have them."""
    return (f"{repository}/{IMAGES_WORKFLOW}@{MAIN}" for repository in sources)


def _run_workflows(github: GitHub) -> Iterator[str]:
    """References of the workflows that make VMs for runs."""
    return (f"{each.repository}/{WORKFLOWS}/{file}@{MAIN}" for each in github.run_makers for file in each.workflows)


def _own(github: GitHub) -> str:
    said = [f"assertion.repository == '{github.repository}'"]
    if github.repository_id is not None:
        said.append(f"assertion.repository_id == '{github.repository_id}'")
    said.append(f"assertion.event_name in {_listed(EVENTS)}")
    return " && ".join(said)


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(repr(text) for text in texts)}]"


def image_builder_attributes(sources: Sequence[str]) -> tuple[str, ...]:
    """The ends of the members that build images: the workflow of images on each source's main branch.

    A reference to a workflow names repository, file and branch at once; a pull request's has another branch.
    """
    return tuple(f"attribute.workflow/{reference}" for reference in _image_workflows(sources))


def run_maker_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that make VMs for runs: the named workflows, each on its repository's main branch."""
    return tuple(f"attribute.workflow/{reference}" for reference in _run_workflows(github))


def preview_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may read: pull requests of the repository's own branches, and its main branch."""
    return tuple(f"attribute.preview/{github.repository}/{what}" for what in ("pull_request", MAIN))


def deployment_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may apply: the main branch, in one of the environments."""
    return tuple(f"attribute.deployment/{github.repository}/{name}/{MAIN}" for name in github.environments)
