"""What starts builds, where their logs go and where their sources come from, beyond what the committed stack uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi_gcp as gcp
import pytest

from infra.components.build_sources import BuildSource, BuildSources, BuildSourcesArgs
from infra.components.builds import Builds, BuildsArgs, Clock, ImageBuilds, PushTrigger
from tests.components.test_components import LAB, made
from tests.program.fake_engine import Built

STEP = {
    "id": "fetch",
    "name": "docker.io/library/debian@sha256:0",
    "script": "true",
    "timeout": "60s",
    "waitFor": ["-"],
}
BODY: Mapping[str, Any] = {
    "steps": [STEP],
    "timeout": "3600s",
    "queueTtl": "3600s",
    "logsBucket": "gs://logs",
    "serviceAccount": f"projects/{LAB}/serviceAccounts/builder@{LAB}.iam.gserviceaccount.com",
    "tags": ["tidepool"],
    "substitutions": {"_SOURCE_REVISION": "$COMMIT_SHA"},
    "options": {"machineType": "E2_MEDIUM", "diskSizeGb": "100", "logging": "GCS_ONLY", "env": ["A=1"]},
}
PUSH = PushTrigger(
    name="on-push",
    repository="lab/monorepo",
    repository_id="projects/p/locations/r/connections/c/repositories/m",
    branch="release-1.0",
    included_files=("uv.lock",),
    ignored_files=("docs/**",),
    build=BODY,
)
IMAGE = ImageBuilds(
    image="tpu-ci",
    topic="build-tpu-ci",
    message_trigger="on-message",
    message_build=BODY,
    pushes=(PUSH,),
    clock=Clock(name="nightly", cron="0 3 * * *", time_zone="Europe/Berlin"),
)


def builds(image: ImageBuilds = IMAGE, **publishers: str) -> Built:
    def component() -> Builds:
        builder, starter = (
            gcp.serviceaccount.Account(key, account_id=key, project=LAB) for key in ("builder", "starter")
        )
        return Builds(
            "builds",
            BuildsArgs(
                project=LAB,
                region="us-central1",
                labels={},
                builder=builder,
                starter=starter,
                publishers=publishers,
                images=(image,),
                ready=[builder],
            ),
        )

    return made(component)


def triggers(image: ImageBuilds = IMAGE) -> dict[str, Mapping[str, Any]]:
    return {each.name: each.inputs for each in builds(image).of("Trigger")}


def test_what_cannot_be_built_is_declared_off_and_says_why() -> None:
    for inputs in triggers(replace(IMAGE, unready="Off: python is not pinned")).values():
        assert inputs["disabled"] is True
        assert inputs["description"].endswith(". Off: python is not pinned")
    for inputs in triggers().values():
        assert inputs["disabled"] is False
        assert "Off" not in inputs["description"]


@pytest.mark.parametrize(
    "body",
    [
        {**BODY, "artifacts": {}},
        {**BODY, "options": {**BODY["options"], "pool": {}}},
        {**BODY, "steps": [{**STEP, "secretEnv": ["TOKEN"]}]},
    ],
)
def test_nothing_of_a_build_is_left_out_in_silence(body: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="which this component does not hand on to a trigger"):
        builds(replace(IMAGE, message_build=body))


VERSION = f"projects/{LAB}/secrets/token/versions/2"


def sources() -> Built:
    given = BuildSource(
        repository="lab/mono",
        connection_name="ci-lab-mono",
        repository_name="lab-mono",
        installation=7,
        token_version=VERSION,
        private=True,
    )
    args = BuildSourcesArgs(project=LAB, region="us-central1", builder="serviceAccount:b@c.d", sources=(given,))
    return made(lambda: BuildSources("sources", args))
