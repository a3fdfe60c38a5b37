"""What starts builds, where their logs go and where their sources come from, beyond what the committed stack uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pulumi_gcp as gcp
import pytest

from infra.components.build_logs import BuildLogs, BuildLogsArgs
from infra.components.build_sources import BuildSource, BuildSources, BuildSourcesArgs
from infra.components.builds import Builds, BuildsArgs, Clock, ImageBuilds, PushTrigger
from tests.program.fake_engine import Built, build

LAB = "a-lab-of-ours"
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


def made(component: Callable[[], Any]) -> Built:
    return build(lambda: component() and None, stack="any")


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


def test_every_trigger_runs_as_the_builder_and_says_where_its_log_goes() -> None:
    for inputs in triggers().values():
        assert inputs["serviceAccount"].endswith(f"/builder@{LAB}.iam.gserviceaccount.com")
        assert inputs["build"]["logsBucket"] == "gs://logs"
        assert inputs["build"]["options"]["logging"] == "GCS_ONLY"
        assert "serviceAccount" not in inputs["build"]


def test_a_trigger_is_in_its_region_and_its_build_has_its_own_time() -> None:
    """Where nothing is said the place is `global`, which cannot be changed, and the time ten minutes."""
    for inputs in triggers().values():
        assert (inputs["location"], inputs["build"]["timeout"]) == ("us-central1", "3600s")


def test_a_push_is_heard_of_one_branch_whose_dots_are_dots() -> None:
    event = triggers()["on-push"]["repositoryEventConfig"]
    assert event["push"] == {"branch": r"^release-1\.0$"}
    assert event["repository"] == PUSH.repository_id
    assert triggers()["on-push"]["includedFiles"] == ["uv.lock"]
    assert triggers()["on-push"]["ignoredFiles"] == ["docs/**"]


def test_a_message_is_handed_over_by_the_starter_and_read_in_the_triggers_own_substitutions() -> None:
    inputs = triggers()["on-message"]
    assert inputs["pubsubConfig"]["topic"] == f"projects/{LAB}/topics/build-tpu-ci"
    assert inputs["pubsubConfig"]["serviceAccountEmail"] == f"starter@{LAB}.iam.gserviceaccount.com"
    assert inputs["substitutions"] == BODY["substitutions"]
    assert "includedFiles" not in inputs


def test_a_clock_publishes_to_the_topic_in_its_time_zone() -> None:
    job = builds().one("Job").inputs
    assert (job["schedule"], job["timeZone"], job["region"]) == ("0 3 * * *", "Europe/Berlin", "us-central1")
    assert job["pubsubTarget"]["topicName"] == f"projects/{LAB}/topics/build-tpu-ci"
    assert not builds(replace(IMAGE, clock=None)).of("Job")


def test_who_may_start_builds_may_publish_to_the_topic_and_nothing_else() -> None:
    (grant,) = builds(workflow="serviceAccount:w@b.c").of("TopicIAMMember")
    assert grant.inputs["role"] == "roles/pubsub.publisher"
    assert grant.inputs["topic"] == "build-tpu-ci"


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


def sources(*, private: bool = False) -> Built:
    given = BuildSource(
        repository="lab/mono",
        connection_name="ci-lab-mono",
        repository_name="lab-mono",
        installation=7,
        token_version=VERSION,
        private=private,
    )
    args = BuildSourcesArgs(project=LAB, region="us-central1", builder="serviceAccount:b@c.d", sources=(given,))
    return made(lambda: BuildSources("sources", args))


def test_the_stage_of_a_connection_is_said() -> None:
    (said,) = (outputs for urn, outputs in sources().component_outputs.items() if "BuildSources" in urn)
    assert said["connections"]["lab/mono"] == {"name": "ci-lab-mono", "stage": "COMPLETE", "authorise_at": ""}


def test_a_connection_names_the_version_of_its_token_and_never_holds_it() -> None:
    assert sources().one("Connection").inputs["githubConfig"] == {
        "appInstallationId": 7,
        "authorizerCredential": {"oauthTokenSecretVersion": VERSION},
    }


def test_the_builder_may_ask_for_tokens_of_a_private_source_on_its_connection_alone() -> None:
    (grant,) = sources(private=True).of("ConnectionIAMMember")
    assert (grant.inputs["role"], grant.inputs["member"]) == (
        "roles/cloudbuild.readTokenAccessor",
        "serviceAccount:b@c.d",
    )
    assert (grant.inputs["name"], grant.inputs["location"]) == ("ci-lab-mono", "us-central1")
    assert not sources().of("ConnectionIAMMember")


def test_a_repository_goes_before_its_connection() -> None:
    built = sources()
    (repository,) = built.of("cloudbuildv2/repository:Repository")
    assert built.one("Connection").urn in repository.dependencies
    assert repository.inputs["remoteUri"] == "https://github.com/lab/mono.git"


def test_the_log_bucket_is_private_and_forgets() -> None:
    args = BuildLogsArgs(
        project=LAB, bucket="lab-logs", location="us", labels={}, keep_days=90, writer="serviceAccount:b@c.d"
    )
    built = made(lambda: BuildLogs("logs", args))
    bucket = built.one("Bucket").inputs
    assert bucket["publicAccessPrevention"] == "enforced"
    assert [rule["condition"]["age"] for rule in bucket["lifecycleRules"]] == [90]
    assert {grant.inputs["role"] for grant in built.of("BucketIAMMember")} == {
        "roles/storage.legacyBucketReader",
        "roles/storage.objectUser",
    }
