"""Regions and zones as the services name them.

Owns the list of Google's regions with the letters of their zones (cloud.google.com/compute/docs/regions-zones, read
2026-11; us-central2 is not listed there but works), joined by the zones of the TPU catalogue.
"""

from __future__ import annotations

from infra.model import catalogue

MULTI_REGIONS = ("asia", "europe", "us")

_LETTERS = {
    "africa-south1": "abc", "asia-east1": "abc", "asia-east2": "abc", "asia-northeast1": "abc",
    "asia-northeast2": "abc", "asia-northeast3": "abc", "asia-south1": "abc", "asia-south2": "abc",
    "asia-southeast1": "abc", "asia-southeast2": "abc", "australia-southeast1": "abc", "australia-southeast2": "abc",
    "europe-central2": "abc", "europe-north1": "abc", "europe-north2": "abc", "europe-southwest1": "abc",
    "europe-west1": "bcd", "europe-west10": "abc", "europe-west12": "abc", "europe-west2": "abc",
    "europe-west3": "abc", "europe-west4": "abc", "europe-west6": "abc", "europe-west8": "abc", "europe-west9": "abc",
    "me-central1": "abc", "me-central2": "abc", "me-west1": "abc", "northamerica-northeast1": "abc",
    "northamerica-northeast2": "abc", "northamerica-south1": "abc", "southamerica-east1": "abc",
    "southamerica-west1": "abc", "us-central1": "abcf", "us-central2": "b", "us-east1": "bcd", "us-east4": "abc",
    "us-east5": "abc", "us-south1": "abc", "us-west1": "abc", "us-west2": "abc", "us-west3": "abc", "us-west4": "abc",
}  # fmt: skip


def _regions() -> dict[str, tuple[str, ...]]:
    zones = {f"{region}-{letter}" for region, letters in _LETTERS.items() for letter in letters}
    by_region: dict[str, list[str]] = {}
    for zone in sorted(zones | set(catalogue.zones())):
        by_region.setdefault(catalogue.region_of(zone), []).append(zone)
    return {region: tuple(members) for region, members in sorted(by_region.items())}


# Region -> its zones, both sorted.
REGIONS = _regions()
ZONES = {zone: region for region, members in REGIONS.items() for zone in members}
