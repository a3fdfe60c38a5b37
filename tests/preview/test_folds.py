"""Resources told by kind with counts: the kind is what stands behind the last dot of a type."""

from __future__ import annotations

import pytest

from infra.model.plan import Op, Step
from infra.preview.folds import folds


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "kueue: 1 ClusterQueue"),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", "rbac: 1 ClusterRole"),
        ("kubernetes:networking.k8s.io/v1:NetworkPolicy", "networking: 1 NetworkPolicy"),
        ("kubernetes:helm.sh/v3:Release", "helm: 1 Release"),
        ("kubernetes:core/v1:Namespace", "core: 1 Namespace"),
        ("gcp:artifactregistry/repository:Repository", "artifactregistry: 1 Repository"),
    ],
)
def test_a_kind_is_told_without_the_group_of_its_api(token: str, told: str) -> None:
    assert list(map(str, folds([Step(op=Op.CREATE, urn="urn", type=token, name="one")]))) == [told]
