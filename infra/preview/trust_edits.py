"""Who is let in by an edit that was not before: to pools, to secrets, and to the project without a key."""

from __future__ import annotations

from collections.abc import Iterator

from infra.model.schema import GitHub, StackConfig, Trust
from infra.preview.meaning import Risk, RiskKind

# From what is let in least to what is let in most.
_WIDTH = {Trust.PROTECTED: 0, Trust.MEMBER: 1, Trust.FORK: 2}
_LETS_IN = {Trust.MEMBER: "pull requests from branches will run there", Trust.FORK: "any pull request will run there"}


def trust_risks(base: StackConfig, head: StackConfig, *, made: bool) -> Iterator[Risk]:
    """Both configs are whole. made: whether the stack was declared before; what pools of a new one serve is no risk."""
    yield from _pools(base, head, made=made)
    yield from _secrets(base, head)
    yield from _federation(base, head)


def _pools(base: StackConfig, head: StackConfig, *, made: bool) -> Iterator[Risk]:
    before = {pool.name: pool for pool in base.pools}
    for becomes in head.pools:
        was = before.get(becomes.name)
        if was is None:
            if becomes.trust is Trust.FORK:
                says = f"new pool {becomes.name} has trust fork: {_LETS_IN[Trust.FORK]}"
                yield Risk(kind=RiskKind.TRUST, subject=becomes.name, says=says)
            continue
        if _WIDTH[becomes.trust] > _WIDTH[was.trust]:
            says = f"pool {was.name} opens from {was.trust} to {becomes.trust}: {_LETS_IN[becomes.trust]}"
            yield Risk(kind=RiskKind.TRUST, subject=was.name, says=says)
        more = sorted({each.lower() for each in becomes.serves} - {each.lower() for each in was.serves})
        if more and made:
            says = f"pool {was.name} serves more repositories: {', '.join(more)}"
            yield Risk(kind=RiskKind.TRUST, subject=was.name, says=says, names=tuple(more))


def _secrets(base: StackConfig, head: StackConfig) -> Iterator[Risk]:
    readers = {secret.name: set(secret.readers) for secret in base.secrets}
    for secret in head.secrets:
        more = sorted(set(secret.readers) - readers.get(secret.name, set(secret.readers)))
        if more:
            says = f"secret {secret.name} may be read by more: {', '.join(more)}"
            yield Risk(kind=RiskKind.TRUST, subject=secret.name, says=says, names=tuple(more))


def _federation(base: StackConfig, head: StackConfig) -> Iterator[Risk]:
    """Whose workflows may act on the project without a key, and from which environments."""
    was, becomes = base.github, head.github
    if becomes is None:
        return
    subject = f"github {becomes.repository}"
    if was is None or (was.repository, was.repository_id) != (becomes.repository, becomes.repository_id):
        says = f"workflows of {becomes.repository} may preview, and apply from {', '.join(becomes.environments)}"
        says += f"; before, those of {was.repository}" if was else "; before, none"
        yield Risk(kind=RiskKind.TRUST, subject=subject, says=says, names=becomes.environments)
    elif more := sorted(set(becomes.environments) - set(was.environments)):
        says = f"workflows of {becomes.repository} may apply from more environments: {', '.join(more)}"
        yield Risk(kind=RiskKind.TRUST, subject=subject, says=says, names=tuple(more))
    made = _run_makers(was) if was else frozenset[str]()
    if makers := sorted(_run_makers(becomes) - made):
        says = f"more workflows may make TPU VMs for their runs: {', '.join(makers)}"
        yield Risk(kind=RiskKind.TRUST, subject=subject, says=says, names=tuple(makers))
    kept = _result_writers(was) if was else frozenset[str]()
    if writers := sorted(_result_writers(becomes) - kept):
        says = f"more workflows may write results of test runs: {', '.join(writers)}"
        yield Risk(kind=RiskKind.TRUST, subject=subject, says=says, names=tuple(writers))


def _run_makers(github: GitHub) -> frozenset[str]:
    return frozenset(
        f"{each.repository} {file} as pool {each.pool}" for each in github.run_makers for file in each.workflows
    )


def _result_writers(github: GitHub) -> frozenset[str]:
    return frozenset(f"{each.repository} {file}" for each in github.result_writers for file in each.workflows)
