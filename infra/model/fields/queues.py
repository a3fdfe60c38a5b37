"""Values of queues, of the teams that share them, and of their store: namespaces, weights, priorities, members."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, StrictStr

from infra.model import names
from infra.model.facts import firestore_locations
from infra.model.fields.common import between, matching, one_of, refusing
from infra.model.refusals import refuse

WITHIN_QUEUE = ("never", "lower-priority", "lower-or-newer-priority")
WITHIN_COHORT = ("never", "lower-priority", "any")
_OTHERS = re.compile(r"default|(kube|gke|kueue|jobset|lws|dask|gmp|gke-managed)(-.*)?|.*-system")
_MOST = 10**9
"""The largest priority that Kubernetes leaves to its users."""


def _priorities(value: Mapping[str, int]) -> Mapping[str, int]:
    if len(set(value.values())) < len(value):
        refuse("two priorities have the same number", "a number of its own for each")
    return dict(sorted(value.items(), key=lambda item: item[1]))


TeamName = Annotated[
    StrictStr,
    matching(names.RESOURCE_NAME, f"a team's name: {names.RESOURCE_NAME_RULE}", "such as pretraining"),
    refusing(
        lambda text: not _OTHERS.fullmatch(text),
        "the team's namespace would be one of Kubernetes, GKE or a queue's controller",
        "another name",
    ),
]
StoreMemory = Annotated[int, between(1, 300, "GB of memory of a Redis", "a number such as 1")]
"""Memorystore's limits (cloud.google.com/memorystore/docs/redis/pricing, read 2026-11)."""
FirestoreLocation = Annotated[
    StrictStr,
    one_of(firestore_locations, "a region or multi-region of Firestore"),
]
Weight = Annotated[int, between(1, 1000, "a share of the queues", "a number such as 2")]
PriorityName = Annotated[
    StrictStr, matching(names.RESOURCE_NAME, f"a priority's name: {names.RESOURCE_NAME_RULE}", "such as high")
]
PriorityValue = Annotated[int, between(0, _MOST, "a priority", "a number such as 500")]
PRIORITIES = AfterValidator(_priorities)
WithinQueue = Annotated[
    StrictStr, one_of(lambda: WITHIN_QUEUE, "a choice of jobs that one may preempt in its own queue")
]
WithinCohort = Annotated[
    StrictStr, one_of(lambda: WITHIN_COHORT, "a choice of jobs that one may preempt to get lent quota back")
]
Member = Annotated[
    StrictStr,
    matching(r"(user|group):[^@\s:]+@[^@\s:]+\.[^@\s:]+", "a person or a group", "group:research@my-lab.org"),
]
AccountEmail = Annotated[
    StrictStr,
    matching(
        r"[a-z][-a-z0-9]{4,28}[a-z0-9]@[a-z][-a-z0-9]+\.iam\.gserviceaccount\.com",
        "a service account by its address",
        "trainer@my-lab.iam.gserviceaccount.com",
    ),
]
