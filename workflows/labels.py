"""The label list of actionlint: every label that a runner of a repository may have, from the pools that serve it.

Owns `.github/actionlint.yaml` (https://github.com/rhysd/actionlint/blob/main/docs/config.md, read 2026-11-21). Labels
that GitHub gives by itself are known to actionlint.
"""

from __future__ import annotations

from typing import Final

from infra.model.demand import WRITE
from infra.model.fields import is_github_own_label
from workflows.dump import Document, dump
from workflows.world import World

FILE: Final = ".github/actionlint.yaml"
_HEADER: Final = (
    f"Generated from the pools of the stacks by Tidepool's {WRITE}. Do not edit: change what it is made from.\n"
    "\n"
    "Labels of runners that serve this repository, for actionlint, which knows those of GitHub's."
)


def labels(repository: str, world: World) -> tuple[str, ...]:
    """Every label of the pools that serve a repository, as the stacks write them, sorted."""
    wanted = repository.lower()
    serving = [each.pool for each in world.pools() if wanted in {name.lower() for name in each.pool.serves}]
    found = {label for pool in serving for label in pool.runner_labels}
    return tuple(sorted(label for label in found if not is_github_own_label(label)))


def files(repository: str, world: World) -> dict[str, str]:
    """The repository's FILE; none where no pool serves it."""
    found = labels(repository, world)
    return {FILE: dump(Document(data={"self-hosted-runner": {"labels": list(found)}}, header=_HEADER))} if found else {}
