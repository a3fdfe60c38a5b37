"""How a cluster's nodes are asked for where GKE does not say where its API is."""

from __future__ import annotations

from typing import Any

import pytest

from infra.operations.fleet.nodes import nodes_now
from tests.model.clustered import cluster
from tests.model.given import parse, stack_text


@pytest.mark.parametrize("more", [{}, {"endpoint": "10.0.0.2", "masterAuth": {}}], ids=["new", "no certificate"])
def test_a_cluster_without_an_address_yet_is_told_and_its_nodes_are_not_known(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"status": "PROVISIONING", "nodePools": [], **more}
    monkeypatch.setattr("infra.operations.fleet.nodes.cluster_of", lambda *_: told)
    config = parse(stack_text(cluster=cluster(), pools="[]\n"))
    found = nodes_now(config, "http://127.0.0.1:9/")
    assert found is not None
    assert (found.state, found.known) == ("PROVISIONING", False)
    assert "GKE tells no address of it yet" in found.problems[0]
