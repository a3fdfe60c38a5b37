"""Random edits of three stack files in two projects, valid and broken, one after another."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

Data = dict[str, Any]

SHAPES = {
    "v5litepod-4": ("us-west4-a", "us-west1-c", "us-south1-a"),
    "v5litepod-8": ("us-west4-a", "us-west1-c", "us-south1-a"),
    "v6e-4": ("us-east5-a", "southamerica-west1-a"),
    "v6e-8": ("us-east5-a", "southamerica-west1-a"),
    "v4-8": ("us-central2-b",),
}
PROJECTS = {"ci": "my-lab", "nightly": "my-lab", "far": "other-lab"}
RESERVED = {"reserved": "lab"}
_OWNED = {
    "ci": (("us-west4-a", "v5e", "preemptible"), ("us-west4-a", "v5e", "on-demand")),
    "nightly": (("us-west1-c", "v5e", "preemptible"), ("us-east5-a", "v6e", "preemptible")),
    "far": (("us-west4-a", "v5e", "preemptible"),),
}
"""Which stack declares which quota: a limit that two declare is declared alike, so one of them edits it here."""


def first() -> dict[str, Data]:
    """Three small stacks that keep every rule."""
    return {
        name: {
            "project": project,
            "owner": "lab",
            "bucket": {"name": f"{name}-records", "location": "us"},
            "pools": [
                {
                    "name": f"{name}-pool0",
                    "accelerator": "v5litepod-4",
                    "zones": {"us-west4-a": 1},
                    "capacity": "spot",
                    "trust": "member",
                    "fallback": [],
                }
            ],
            "reservations": [
                {"name": "lab", "project": project, "zone": "us-central2-b", "generation": "v4", "chips": 32}
                | {"held_elsewhere": 4}
            ]
            if name == "ci"
            else [],
            "quotas": [_quota(project, *each, 64) for each in _OWNED[name]],
            "freezes": [],
        }
        for name, project in PROJECTS.items()
    }


def _quota(project: str, zone: str, generation: str, kind: str, chips: int) -> Data:
    return {"project": project, "zone": zone, "generation": generation, "kind": kind, "chips": chips}


def text(data: Data) -> str:
    """The stack file."""
    keys = {("gcp:project" if key == "project" else f"tidepool:{key}"): value for key, value in data.items()}
    return yaml.safe_dump({"config": keys}, sort_keys=False)


def edited(random: Random, name: str, data: Data) -> Data:
    """One valid edit or two; it may still pass a limit, a budget or a freeze."""
    made = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 2))):
        random.choice(_EDITS)(random, name, made)
    for pool in made["pools"]:
        pool["fallback"] = [each for each in pool["fallback"] if not _is_home(pool, each)]
    return made


def _is_home(pool: Data, place: Data) -> bool:
    """Whether a fallback is nothing but a place of the pool's own, or of another generation than it became."""
    own = list(pool["zones"]) == [place["zone"]] and place["capacity"] == pool["capacity"]
    return own or place["zone"] not in SHAPES[pool["accelerator"]]


def _count(random: Random, _: str, data: Data) -> None:
    for pool in random.sample(data["pools"], min(1, len(data["pools"]))):
        zone = random.choice(list(pool["zones"]))
        pool["zones"][zone] = random.choice((0, 1, 2, 3, 5, 9))


def _zone(random: Random, _: str, data: Data) -> None:
    """Move to another zone, or add or leave one."""
    for pool in random.sample(data["pools"], min(1, len(data["pools"]))):
        zones = SHAPES[pool["accelerator"]]
        kept = {zone: pool["zones"].get(zone, 1) for zone in random.sample(zones, random.randint(1, len(zones)))}
        pool["zones"] = kept


def _pool(random: Random, name: str, data: Data) -> None:
    used = {pool["name"] for pool in data["pools"]}
    free = [f"{name}-pool{number}" for number in range(5) if f"{name}-pool{number}" not in used]
    if free and random.random() < 0.6:
        accelerator = random.choice([each for each in SHAPES if each != "v4-8"])
        zone = random.choice(SHAPES[accelerator])
        kind = random.choice(("spot", "preemptible", "on-demand"))
        pool: Data = {"name": free[0], "accelerator": accelerator, "zones": {zone: 1}, "capacity": kind}
        if name == "ci" and random.random() < 0.3:
            pool |= {"accelerator": "v4-8", "zones": {"us-central2-b": 1}, "capacity": RESERVED}
        data["pools"].append(pool | {"trust": "member", "fallback": []})
    elif data["pools"]:
        data["pools"].remove(random.choice(data["pools"]))


def _shape(random: Random, _: str, data: Data) -> None:
    larger = {"v5litepod-4": "v5litepod-8", "v5litepod-8": "v5litepod-4", "v6e-4": "v6e-8", "v6e-8": "v6e-4"}
    for pool in random.sample(data["pools"], min(1, len(data["pools"]))):
        pool["accelerator"] = larger.get(pool["accelerator"], pool["accelerator"])


def _capacity(random: Random, _: str, data: Data) -> None:
    for pool in random.sample(data["pools"], min(1, len(data["pools"]))):
        if pool["capacity"] != RESERVED:
            pool["capacity"] = random.choice(("spot", "preemptible", "on-demand"))


def _fallback(random: Random, _: str, data: Data) -> None:
    for pool in random.sample(data["pools"], min(1, len(data["pools"]))):
        pool["fallback"] = []
        if random.random() < 0.7 and pool["capacity"] != RESERVED:
            zone = random.choice(SHAPES[pool["accelerator"]])
            pool["fallback"] = [{"zone": zone, "capacity": random.choice(("spot", "on-demand"))}]


def _limit(random: Random, _: str, data: Data) -> None:
    for limit in random.sample([*data["quotas"], *data["reservations"]], 1):
        limit["chips"] = random.choice((0, 8, 16, 32, 64, 128))


def _freeze(random: Random, _: str, data: Data) -> None:
    data["freezes"] = []
    if random.random() < 0.6:
        window: Data = {"name": "paper", "time_zone": "UTC"} | random.choice(_WINDOWS)
        if random.random() < 0.3:
            window["override"] = {
                "until": random.choice(("2026-11-20", "2026-11-22")),
                "reason": "The runners are down.",
            }
        data["freezes"] = [window]


_WINDOWS = (
    {"from": "2026-11-20", "to": "2026-11-22"},
    {"from": "2026-11-21", "to": "2026-11-21"},
    {"from": "2026-12-20", "to": "2026-12-24"},
    {"from": "2026-11-01", "to": "2026-11-20"},
)


def _budget(random: Random, _: str, data: Data) -> None:
    data.pop("budget", None)
    if random.random() < 0.6:
        data["budget"] = {"usd_per_month": random.choice((500, 5000, 50000))}


_EDITS: tuple[Callable[[Random, str, Data], None], ...] = (
    _count,
    _count,
    _zone,
    _zone,
    _pool,
    _pool,
    _shape,
    _capacity,
    _fallback,
    _limit,
    _freeze,
    _budget,
)


def broken(random: Random, data: Data) -> str:
    """The file with one mistake that hides what it draws."""
    return random.choice(_MISTAKES)(random, data)


def _wrong_pool(random: Random, data: Data) -> str:
    made = copy.deepcopy(data)
    pool = random.choice(made["pools"])
    key, value = random.choice(
        (
            ("accelerator", "v9-9"),
            ("zones", {"us-west4-a": -1}),
            ("zones", {"us-west4-z": 1}),
            ("zones", {}),
            ("zones", 7),
            ("capacity", "sopt"),
            ("capacity", {"reserved": 7}),
            ("fallback", "us-west1-c"),
            ("fallback", [7]),
            ("pols", 1),
            ("trust", None),
            ("name", [1]),
        )
    )
    pool[key] = value
    return text(made)


def _wrong_section(random: Random, data: Data) -> str:
    key = random.choice(("pools", "quotas", "reservations"))
    return text({**data, key: random.choice((7, "x", {"a": 1}, [None], [[[]]], True))})


def _misspelt(random: Random, data: Data) -> str:
    return text(data).replace("tidepool:pools", random.choice(("tidepool:pols", "pools", "tidepol:pools")))


def _cut(random: Random, data: Data) -> str:
    """No YAML any more."""
    lines = text(data).splitlines()
    lines.insert(random.randrange(1, len(lines)), random.choice(("\t- {", "]: [", "&a *a: {", "config: [")))
    return "\n".join(lines)


_MISTAKES: tuple[Callable[[Random, Data], str], ...] = (_wrong_pool, _wrong_section, _misspelt, _cut)
