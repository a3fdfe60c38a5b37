"""Values of what keeps a fleet: GitHub, runners, the controller and who may read a secret."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator, StrictStr

from infra.model.facts import service_regions
from infra.model.fields.common import DAY, HOUR, MAX_ID, Written, between, matching, one_of, whole_number
from infra.model.refusals import refuse


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        refuse("not a share of a pool: a number above 0, up to 1", "such as 0.34")
    return float(value)


def _every_minutes(value: object) -> int:
    """A cron starts anew at each hour, so only what divides one comes at equal distances."""
    rule = "not minutes that divide an hour"
    number = whole_number(value, 1, rule, "such as 2")
    return number if number <= HOUR and HOUR % number == 0 else refuse(rule, "such as 1, 2, 5 or 10")


WorkflowFile = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml", "the name of a file below .github/workflows", "such as nightly.yaml"
    ),
]
RepositoryId = Annotated[
    StrictStr, matching(r"[1-9][0-9]{0,18}", "GitHub's number of a repository, as text", 'such as "123456789"')
]
EnvironmentName = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
        "a GitHub environment: up to 63 letters, digits, dots, hyphens and underscores",
        "such as apply",
    ),
]
AppId = Annotated[
    int,
    between(1, MAX_ID, "GitHub's number of an app", "a number such as 123456"),
]
RunnerGroup = Annotated[
    StrictStr, matching(r"\S(.{0,62}\S)?", "the name of a runner group at GitHub", "such as tpu-member")
]
BootMinutes = Annotated[int, between(1, DAY, "minutes from READY to a runner online", "a number of minutes such as 20")]
JobMinutes = Annotated[int, between(1, 5 * DAY, "minutes that a drain waits for a job", "such as 120")]
GraceMinutes = Annotated[int, between(1, DAY, "minutes before what is not declared is deleted", "such as 10")]
EveryMinutes = Annotated[
    int,
    PlainValidator(_every_minutes),
    Written(lambda: {"enum": [number for number in range(1, HOUR + 1) if HOUR % number == 0]}),
]
Replacements = Annotated[int, between(1, 1000, "replacements of one pool within an hour", "a number such as 6")]
Share = Annotated[
    float,
    PlainValidator(_share),
    Written(lambda: {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": "a share of a pool"}),
]
ServiceRegion = Annotated[StrictStr, one_of(service_regions, "a region that has both Cloud Run and Cloud Scheduler")]
ServiceImage = Annotated[
    StrictStr,
    matching(
        r"[a-z0-9-]+-docker\.pkg\.dev/[a-z0-9-]+/[a-z0-9-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}",
        "one build of an image in Artifact Registry, by its digest",
        "LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST",
    ),
]
EmailAddress = Annotated[
    StrictStr, matching(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address", "such as tpu-alerts@my-lab.org")
]
RunsADay = Annotated[int, between(0, 10_000, "VMs that runs make in a day", "a number such as 12")]
RunsAtOnce = Annotated[int, between(0, 1000, "VMs for runs at one time", "a number such as 3")]
RunMinutes = Annotated[int, between(5, DAY, "minutes for which a VM for a run may stand", "such as 60")]
Reader = Annotated[
    StrictStr,
    matching(
        r"broker|controller|builder|(pool|team)/[a-z][a-z0-9-]*",
        "one of the stack's own identities",
        "broker, controller, builder, pool/NAME or team/NAME",
    ),
]
