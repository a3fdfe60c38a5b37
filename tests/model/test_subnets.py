"""Subnets: one block a region, for ever."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from infra.model import catalogue
from infra.model.facts import facts, repository_regions, subnet_cidr

ORDER = facts("regions")["subnet_order"]


def test_blocks_of_all_regions_are_disjoint_and_leave_half_of_ten_to_others() -> None:
    blocks = [IPv4Network(subnet_cidr(region)) for region in ORDER]
    assert not [(a, b) for a in blocks for b in blocks if a is not b and a.overlaps(b)]
    assert all(block.subnet_of(IPv4Network("10.0.0.0/9")) for block in blocks)


def test_regions_keep_the_blocks_that_they_have() -> None:
    """A region that moves is replaced with every VM in it: this list may grow at its end and change nowhere else."""
    assert [subnet_cidr(region) for region in ORDER[:6]] == [f"10.{number}.0.0/16" for number in range(6)]
    assert ORDER[:6] == ["europe-west4", "us-central1", "us-central2", "us-east1", "us-east5", "us-west4"]


def test_every_region_that_a_stack_can_name_has_a_block() -> None:
    wanted = {catalogue.region_of(zone) for zone in catalogue.zones()} | set(repository_regions())
    assert wanted <= set(ORDER)
    assert len(ORDER) == len(set(ORDER))


def test_a_region_without_a_number_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="append it"):
        subnet_cidr("mars-north1")
