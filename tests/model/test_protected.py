"""How a refusal names the way that a stack file has to let a cluster go."""

from __future__ import annotations

from infra.model import protected
from infra.model.plan import Op, Step


def _step(name: str, kind: str) -> Step:
    return Step(urn=f"urn:pulumi:ci::tidepool::{kind}::{name}", op=Op.DELETE, type=kind, name=name)


def test_a_cluster_is_let_go_by_its_deletion_protection() -> None:
    said = protected.undeclared([_step("train", "gcp:container/cluster:Cluster")])
    assert "to let cluster train go, set deletion_protection: false in tidepool:cluster and `up` first" in said


def test_nothing_else_has_a_way_to_be_let_go() -> None:
    assert "deletion_protection" not in protected.undeclared([_step("a", "gcp:storage/bucket:Bucket")])
