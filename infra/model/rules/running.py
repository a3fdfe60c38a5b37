"""Rules of what keeps a fleet: the GitHub App and its groups, the controller, and where VMs go in a stockout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.catalogue import nearest_names
from infra.model.errors import Problem, shown
from infra.model.partial import has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats, right
from infra.model.schema import Pool, Runners, StackConfig

_MOST_CHANNELS: Final = 16
"""Of an alert policy: docs.cloud.google.com/monitoring/quotas."""


def _key_secret(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    runners = _runners(config)
    if runners is None or not has(runners, "app") or runners.app is None or not has(runners.app, "key_secret"):
        return
    where, name = subject(("runners", "app", "key_secret")), runners.app.key_secret
    secrets = {each.name: each for each in config.secrets if has(each, "name")}
    secret = secrets.get(name)
    if secret is None:
        nearest = nearest_names(name, secrets)
        fix = f"one of {', '.join(nearest or secrets)}" if secrets else "declare it under tidepool:secrets"
        yield Problem(where, shown(name), "the stack declares no secret of this name", fix)
    elif has(secret, "readers") and secret.readers != ("broker",):
        rule = "others than the broker may read the app's key"
        yield Problem(where, shown(name), rule, f"readers: [broker] of secret {name}")


def _one_owner(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """An installation is one owner's: it registers nothing elsewhere."""
    runners = _runners(config)
    if runners is None or not has(runners, "app") or runners.app is None:
        return
    first = ""
    for index, pool in enumerate(config.pools):
        for number, repository in right(pool.serves if has(pool, "serves") else ()):
            owner = repository.partition("/")[0].lower()
            first = first or owner
            if owner != first:
                rule = f"an owner beside {first}, whose installation of the app pools use already"
                fix = "repositories of one owner in a stack"
                yield Problem(subject(("pools", index, "serves", number)), shown(repository), rule, fix)


def _groups(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """A group says which repositories reach its runners, so levels of trust do not share one, and none is left out."""
    runners = _runners(config)
    if runners is None or not has(runners, "groups") or runners.groups is None:
        return
    of_group: dict[str, str] = {}
    for trust, group in runners.groups.items():
        if group in of_group:
            rule = f"trust {of_group[group]} has this runner group too"
            yield Problem(subject(("runners", "groups", trust)), shown(group), rule, "a group of its own")
        of_group.setdefault(group, trust)
    for trust in sorted({pool.trust for pool in config.pools if has(pool, "trust")} - runners.groups.keys()):
        rule = f"a pool of trust {trust} is declared, and no runner group is named for it"
        yield Problem(subject(("runners", "groups")), "", rule, f"{trust}: and the name of a runner group")


def _service_image(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "controller") or not has(config.controller, "image") or config.controller.image is None:
        return
    image, where = config.controller.image, subject(("controller", "image"))
    if has(config.controller, "region") and config.controller.region is None:
        yield Problem(where, shown(image), "no region says where it runs", "region: beside it, such as us-central1")
    project = image.split("/")[1]
    if has(config, "project") and project != config.project:
        rule = f"the image is in another project than {config.project}, from which Cloud Run pulls"
        yield Problem(where, shown(image), rule, f"a copy in {config.project}")
    runners = _runners(config)
    if runners is not None and has(runners, "app") and runners.app is None:
        rule = "the stack names no GitHub App, through which the broker registers runners"
        yield Problem(where, shown(image), rule, "tidepool:runners.app, or no image yet")


def _grace(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "controller"):
        return
    controller = config.controller
    if has(controller, "grace_minutes", "every_minutes") and controller.grace_minutes < controller.every_minutes:
        rule = f"shorter than the {controller.every_minutes} minutes between two sweeps, both of which must agree"
        where = subject(("controller", "grace_minutes"))
        yield Problem(where, str(controller.grace_minutes), rule, f"{controller.every_minutes} or more")


def _notify(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "controller") or not has(config.controller, "notify"):
        return
    told = config.controller.notify
    yield from repeats(told, subject, ("controller", "notify"), "the address is listed twice", any_case=True)
    if len(told) > _MOST_CHANNELS:
        rule = f"more than {_MOST_CHANNELS} addresses for an alert"
        yield Problem(subject(("controller", "notify")), f"{len(told)} addresses", rule, "the address of a group")


def _fallbacks(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if has(pool, "fallback"):
            seen: set[str] = set()
            for number, each in enumerate(pool.fallback):
                if not has(each, "zone", "capacity"):
                    continue
                where = subject(("pools", index, "fallback", number))
                place = f"{each.zone} {each.capacity}"
                if place in seen:
                    yield Problem(where, place, "this fallback is listed twice", "remove one of the two")
                elif _is_home(pool, place):
                    yield Problem(where, place, "the fallback is the pool's own place", "remove it")
                seen.add(place)


def _is_home(pool: Pool, place: str) -> bool:
    """Whether every VM of the pool is there already. One zone of several is a fallback of the others."""
    return has(pool, "zones", "capacity") and [place] == [f"{zone} {pool.capacity}" for zone in pool.zones]


def _runners(config: StackConfig) -> Runners | None:
    return config.runners if has(config, "runners") else None


RULES: tuple[Rule, ...] = (_key_secret, _one_owner, _groups, _service_image, _grace, _notify, _fallbacks)
