"""Rules of what keeps a fleet: the GitHub App and its groups, the controller, and where VMs go in a stockout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model.errors import Problem, shown, suggestion
from infra.model.refusals import Subject
from infra.model.rules.common import Items, Rule, repeats
from infra.model.schema import Controller, Pool, Runners, SecretDecl

_MOST_CHANNELS: Final = 16
"""Of an alert policy: docs.cloud.google.com/monitoring/quotas."""


def _key_secret(runners: Runners, secrets: tuple[SecretDecl, ...], subject: Subject) -> Iterator[Problem]:
    if runners.app is None:
        return
    where, name = subject(("runners", "app", "key_secret")), runners.app.key_secret
    declared = {each.name: each for each in secrets}
    if name not in declared:
        fix = suggestion(name, declared, "declare it under tidepool:secrets")
        yield Problem(where, shown(name), "the stack declares no secret of this name", fix)
    elif declared[name].readers != ("broker",):
        rule = "others than the broker may read the app's key"
        yield Problem(where, shown(name), rule, f"readers: [broker] of secret {name}")


def _one_owner(runners: Runners, pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    """An installation is one owner's: it registers nothing elsewhere."""
    first = ""
    for index, pool in pools if runners.app is not None else ():
        for number, repository in enumerate(pool.serves):
            owner = repository.partition("/")[0].lower()
            first = first or owner
            if owner != first:
                rule = f"an owner beside {first}, whose installation of the app pools use already"
                fix = "repositories of one owner in a stack"
                yield Problem(subject(("pools", index, "serves", number)), shown(repository), rule, fix)


def _groups(runners: Runners, pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    """A group says which repositories reach its runners, so levels of trust do not share one, and none is left out."""
    if runners.groups is None:
        return
    of_group: dict[str, str] = {}
    for trust, group in runners.groups.items():
        if group in of_group:
            rule = f"trust {of_group[group]} has this runner group too"
            yield Problem(subject(("runners", "groups", trust)), shown(group), rule, "a group of its own")
        of_group.setdefault(group, trust)
    for trust in sorted({pool.trust for _, pool in pools} - runners.groups.keys()):
        rule = f"a pool of trust {trust} is declared, and no runner group is named for it"
        yield Problem(subject(("runners", "groups")), "", rule, f"{trust}: and the name of a runner group")


def _service_image(controller: Controller, runners: Runners, project: str, subject: Subject) -> Iterator[Problem]:
    if controller.image is None:
        return
    image, where = controller.image, subject(("controller", "image"))
    if controller.region is None:
        yield Problem(where, shown(image), "no region says where it runs", "region: beside it, such as us-central1")
    if image.split("/")[1] != project:
        rule = f"the image is in another project than {project}, from which Cloud Run pulls"
        yield Problem(where, shown(image), rule, f"a copy in {project}")
    if runners.app is None:
        rule = "the stack names no GitHub App, through which the broker registers runners"
        yield Problem(where, shown(image), rule, "tidepool:runners.app, or no image yet")


def _grace(controller: Controller, subject: Subject) -> Iterator[Problem]:
    if controller.grace_minutes < controller.every_minutes:
        rule = f"shorter than the {controller.every_minutes} minutes between two sweeps, both of which must agree"
        where = subject(("controller", "grace_minutes"))
        yield Problem(where, str(controller.grace_minutes), rule, f"{controller.every_minutes} or more")


def _notify(controller: Controller, subject: Subject) -> Iterator[Problem]:
    told, at = controller.notify, ("controller", "notify")
    yield from repeats(enumerate(told), subject, at, "the address is listed twice", any_case=True)
    if len(told) > _MOST_CHANNELS:
        rule = f"more than {_MOST_CHANNELS} addresses for an alert"
        yield Problem(subject(at), f"{len(told)} addresses", rule, "the address of a group")


def _fallbacks(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        seen: set[str] = set()
        for number, each in enumerate(pool.fallback):
            where = subject(("pools", index, "fallback", number))
            place = f"{each.zone} {each.capacity}"
            if place in seen:
                yield Problem(where, place, "this fallback is listed twice", "remove one of the two")
            elif [place] == [f"{zone} {pool.capacity}" for zone in pool.zones]:  # one zone of several is no home
                yield Problem(where, place, "the fallback is the pool's own place", "remove it")
            seen.add(place)


RULES: tuple[Rule, ...] = (_key_secret, _one_owner, _groups, _service_image, _grace, _notify, _fallbacks)
