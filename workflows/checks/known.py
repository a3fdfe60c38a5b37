"""What the files themselves cannot say: runners, other workflows, Dockerfiles, tests. All of it is handed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.model.hosted import HOSTED


@dataclass(frozen=True, slots=True)
class Pool:
    """Runners of one's own: the labels that each has, and whether the pool is made for pull requests of forks."""

    name: str
    labels: frozenset[str]
    forks: bool = False


@dataclass(frozen=True, slots=True, order=True)
class TestCase:
    """One test of the consumer repository: its file, and its markers."""

    __test__ = False

    path: str
    markers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the files. What is not known is None or empty, and its rules say nothing.

    repository: `owner/name`, empty where the files may be of any. pools: every pool of the fleet, None where it is not
    known. workflows: names of workflows that exist besides the files. dockerfiles: the images that a Dockerfile, by its
    path in the repository, is built FROM. bases: images of ghcr.io or Artifact Registry that others push. tests: what
    pytest collects. accepted_gaps: markers of tests that run nowhere on purpose.
    """

    repository: str = ""
    hosted: frozenset[str] = HOSTED
    pools: tuple[Pool, ...] | None = None
    workflows: frozenset[str] = frozenset()
    dockerfiles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bases: frozenset[str] = frozenset()
    tests: tuple[TestCase, ...] = ()
    accepted_gaps: frozenset[str] = frozenset()
