"""Whose a VM is: one definition by labels, on which the controller, `destroy` and adoption agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.engines.protocol import EngineRequest
from infra.engines.standing import foreign_vms, unadopted
from infra.engines.strays import OwnVms
from infra.fleet.controller.sorting import sort
from infra.model.errors import EngineError
from infra.model.fleet import owns
from infra.model.stack import load_stack
from tests.engines.vm_world import FIRST, HOME, Cloud, id_of, own
from tests.fleet.controller.given_fleet import fleet, node, seen

MANAGED = {"tidepool-managed": "true", "tidepool-stack": "lone"}


@pytest.mark.parametrize(
    ("labels", "is_ours"),
    [
        (MANAGED, True),
        (MANAGED | {"tidepool-owner": "team", "tidepool-pool": "a"}, True),
        (MANAGED | {"tidepool-owner": "former"}, True),
        (MANAGED | {"tidepool-pool": "another"}, True),
        (MANAGED | {"tidepool-stack": "far"}, False),
        (MANAGED | {"tidepool-managed": "false"}, False),
        ({"tidepool-stack": "lone", "tidepool-owner": "team"}, False),
        ({"tidepool-managed": "true", "tidepool-owner": "team"}, False),
        ({}, False),
    ],
)
def test_controller_destroy_and_adoption_agree_whose_a_vm_is(
    google: Cloud, request_: EngineRequest, labels: dict[str, str], is_ours: bool
) -> None:
    assert owns("lone", labels) is is_ours
    google.nodes[id_of(FIRST)] = own(FIRST) | {"labels": labels}

    desired = replace(fleet(count=0), stack="lone")
    swept = sort(desired, seen(desired, nodes=(node("left-over", labels=labels),)))
    assert bool(swept.orphans) is is_ours

    any_google: Any = google
    destroyed = OwnVms(any_google, load_stack(request_.root, "lone"), frozenset(), 1.0).standing()
    assert destroyed.keys() == ({id_of(FIRST)} if is_ours else set())

    assert foreign_vms(request_, [{"project": "my-lab", "zone": HOME, "name": FIRST}]) == (
        frozenset() if is_ours else {id_of(FIRST)}
    )
    if is_ours:
        (adopted,) = unadopted(request_, (), lambda _: None, waits=False)
        assert adopted.id == id_of(FIRST)
    else:
        with pytest.raises(EngineError, match=FIRST):
            unadopted(request_, (), lambda _: None, waits=False)
