"""Which runs of GitHub Actions act as which account: the mapping, the condition and the members, as plain text.

Owns what a token of GitHub must say to be let in and to act. Makes nothing (components). Claims and their meaning:
docs.github.com/actions/reference/security/oidc; expressions: cloud.google.com/iam/docs/workload-identity-federation,
both read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model import names
from infra.model.schema import GitHub, ResultWriters, RunMakers, StackConfig

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

RUN_MAKER: Final = "run-maker"
"""Role of the accounts that make VMs for runs, one for each repository and pool: who holds one reaches that pool alone.
Their rights on TPU VMs are given by whoever owns the project: they exist for a project alone."""

RESULT_WRITER: Final = "result-writer"
"""Role of the accounts that keep results of test runs, one for each repository: they reach the results alone."""

EVENTS: Final = ("pull_request", "push", "schedule", "workflow_dispatch")
"""Runs that are let in. `pull_request_target` and `workflow_run` are not: they carry the main branch's ref while they
work for whoever opened a pull request."""

BUILD_EVENTS: Final = ("push", "schedule", "workflow_dispatch")
"""Of these, the runs that build images, make VMs or keep results: none of them works for a stranger."""

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


@dataclass(frozen=True, slots=True)
class RunMaker:
    """One account that makes VMs for runs. stack, project: of the stack that lets its workflows in."""

    stack: str
    project: str
    declared: RunMakers

    @property
    def key(self) -> str:
        """How the program and its outputs speak of it."""
        return f"{RUN_MAKER}/{self.declared.pool}/{self.declared.repository}"

    @property
    def account_id(self) -> str:
        return names.run_maker_account_id(self.stack, self.declared.repository, self.declared.pool)

    @property
    def email(self) -> str:
        return names.account_email(self.account_id, self.project)

    @property
    def purpose(self) -> str:
        return f"Makes TPU VMs as pool {self.declared.pool} for runs of {self.declared.repository}; has no key"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The ends of the members that act as it: the named workflows, each on its repository's main branch."""
        return _members(self.declared)


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """One account that keeps results of test runs. stack, project: of the stack that lets its workflows in."""

    stack: str
    project: str
    declared: ResultWriters

    @property
    def key(self) -> str:
        """How the program and its outputs speak of it."""
        return f"{RESULT_WRITER}/{self.declared.repository}"

    @property
    def account_id(self) -> str:
        return names.result_writer_account_id(self.stack, self.declared.repository)

    @property
    def email(self) -> str:
        return names.account_email(self.account_id, self.project)

    @property
    def purpose(self) -> str:
        return f"Keeps results of test runs of {self.declared.repository}; has no key"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The ends of the members that act as it: the named workflows, each on its repository's main branch."""
        return _members(self.declared)


def result_writers(config: StackConfig) -> tuple[ResultWriter, ...]:
    """The accounts that keep results, of the workflows that a stack lets in."""
    declared = config.github.result_writers if config.github is not None else ()
    return tuple(ResultWriter(config.stack, config.project, each) for each in declared)


def workflow_accounts(config: StackConfig) -> tuple[RunMaker | ResultWriter, ...]:
    """Every account that a stack makes for named workflows of repositories with tests and runs."""
    return (*run_makers(config), *result_writers(config))


def run_makers(config: StackConfig) -> tuple[RunMaker, ...]:
    """The accounts that make VMs for runs of the workflows that a stack lets in."""
    declared = config.github.run_makers if config.github is not None else ()
    return tuple(RunMaker(config.stack, config.project, each) for each in declared)


def makers_as(pool: str, project: str, stacks: Iterable[StackConfig]) -> tuple[RunMaker, ...]:
    """Whoever may give VMs the account of a pool, by the stacks of its project; accounts of others reach nothing."""
    return tuple(
        maker
        for config in stacks
        for maker in run_makers(config)
        if maker.declared.pool == pool and maker.project == project
    )


def condition(github: GitHub, sources: Sequence[str] = ()) -> str:
    """What every token must say, whatever it is used for.

    sources: repositories whose workflow of images is let in besides, from their main branch alone, as are those that
    make VMs for runs and keep results. That of `github` itself needs no such leave; who acts as which account is for
    its attributes.
    """
    own = f"assertion.repository == '{github.repository}' && assertion.event_name in {_listed(EVENTS)}"
    named = (*github.run_makers, *github.result_writers)
    repositories = dict.fromkeys((*sources, *(each.repository for each in named)))
    let_in = own
    if repositories:
        files = dict.fromkeys(reference for each in named for reference in _references(each))
        workflows = _listed((*_image_workflows(sources), *files))
        let_in = (
            f"(({own}) || (assertion.repository in {_listed(repositories)} && assertion.ref == '{MAIN}'"
            f" && assertion.workflow_ref in {workflows} && assertion.event_name in {_listed(BUILD_EVENTS)}))"
        )
    return " && ".join((let_in, *_numbers(github)))


def _numbers(github: GitHub) -> Iterator[str]:
    """Whatever lets a repository in whose number is written, it is the one of that number."""
    every = (github, *github.run_makers, *github.result_writers)
    numbered = ((each.repository, each.repository_id) for each in every if each.repository_id is not None)
    for repository, number in dict.fromkeys(numbered):
        yield f"(assertion.repository != '{repository}' || assertion.repository_id == '{number}')"


def _image_workflows(sources: Sequence[str]) -> Iterator[str]:
    """References of the workflows that build images, as tokens have them."""
    return (f"{repository}/{IMAGES_WORKFLOW}@{MAIN}" for repository in sources)


def _members(declared: RunMakers | ResultWriters) -> tuple[str, ...]:
    return tuple(f"attribute.workflow/{reference}" for reference in _references(declared))


def _references(declared: RunMakers | ResultWriters) -> Iterator[str]:
    """References of the workflows that a repository's entry names."""
    return (f"{declared.repository}/{WORKFLOWS}/{file}@{MAIN}" for file in declared.workflows)


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(repr(text) for text in texts)}]"


def image_builder_attributes(sources: Sequence[str]) -> tuple[str, ...]:
    """The ends of the members that build images: the workflow of images on each source's main branch.

    A reference to a workflow names repository, file and branch at once; a pull request's has another branch.
    """
    return tuple(f"attribute.workflow/{reference}" for reference in _image_workflows(sources))


def preview_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may read: pull requests of the repository's own branches, and its main branch."""
    return tuple(f"attribute.preview/{github.repository}/{what}" for what in ("pull_request", MAIN))


def deployment_attributes(github: GitHub) -> tuple[str, ...]:
    """The ends of the members that may apply: the main branch, in one of the environments."""
    return tuple(f"attribute.deployment/{github.repository}/{name}/{MAIN}" for name in github.environments)
