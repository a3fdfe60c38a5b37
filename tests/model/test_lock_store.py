"""tidepool:store and secrets of teams in a stack file: what is refused, and with which next step."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.names import is_resource_name, mount_name, store_name
from infra.model.queues import secrets_of
from tests.model.queued import stack

ACCOUNT = "trainer@my-lab-tpus.iam.gserviceaccount.com"
REDIS: dict[str, Any] = {"region": "us-central1"}


def refused(**more: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        stack(**more)
    return {each.subject.rpartition("tidepool:")[2]: f"{each.rule}; {each.fix}" for each in error.value.problems}


def test_a_team_mounts_the_secrets_that_name_it() -> None:
    secrets = [{"name": "hf", "readers": ["team/rl"]}, {"name": "other", "readers": ["broker"]}]
    config = stack(secrets=secrets)
    assert (secrets_of(config, "rl"), secrets_of(config, "pretraining")) == (("hf",), ())


def test_a_secrets_value_in_place_of_its_name_is_refused_and_not_repeated() -> None:
    token = "hf_" + "x" * 34
    found = refused(secrets=[{"name": token, "readers": ["team/rl"]}])
    assert found
    assert token not in str(found)


@pytest.mark.parametrize("secret", ["hf-token", "HF_TOKEN", "_x_", "a" * 255, "9", "x" * 63, "-"])
def test_every_secret_has_a_name_that_kubernetes_takes_and_no_other_secret_has(secret: str) -> None:
    assert is_resource_name(mount_name(secret))
    assert mount_name(secret) not in {mount_name(each) for each in (secret.swapcase() + "_", f"{secret}-x", "other")}


def test_names_of_stores_are_within_googles_limits() -> None:
    assert store_name("training") == "tidepool-training"
    long = store_name("x" * 60)
    assert len(long) <= 40
    assert long != store_name("x" * 59 + "y")
