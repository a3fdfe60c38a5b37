"""Rules over edits at their edges, and the words of every finding."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infra.model.schema import StackConfig
from infra.rules.book import judge
from infra.rules.finding import Finding
from infra.rules.rule import Edit
from infra.rules.view import ResourceView
from tests.model.given import cost_of, parse, pool, sibling, stack_text
from tests.model.test_cluster_refusals import text
from tests.rules.right_edits import POOLS, SERVED, config, edit, rules, vm
from tests.rules.test_edit_rules import DEFAULT, FREEZE, LATER, OVERRIDE, exception, order, swapped

GOLDEN = Path(__file__).parent / "golden" / "edit-findings.txt"
REGISTRIES = "regions: [us-central1, us-east1]\nrepositories: [{name: marin}, {name: tests}]\n"
GITHUB = "repository: my-lab/tidepool\nenvironments: [apply]\n"
SECRETS = "- {name: key, readers: []}\n- {name: other, readers: []}\n"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 80}\n"


def of_cluster(**fields: object) -> StackConfig:
    """A stack with a cluster; fields replace its own."""
    stack = parse(text())
    assert stack.cluster is not None
    return stack.model_copy(update={"cluster": stack.cluster.model_copy(update=fields)})


def service(image: str, *, registries: str | None = None, siblings: tuple[StackConfig, ...] = ()) -> Edit:
    sections = {key: section for key, section in SERVED.items() if key != "registries"}
    sections["controller"] = f"region: us-central1\nimage: {image}@sha256:{'0' * 64}\n"
    return edit(config(**sections, **({"registries": registries} if registries else {})), siblings=siblings)


def dollars(count: int, allowed: Decimal | int) -> StackConfig:
    """So many VMs of one pool, and what the stack may cost."""
    pools = pool(name="tpu-ci", zones=f"{{us-west4-a: {count}}}")
    return config(pools=pools, budget=f"usd_per_month: {allowed}\n")


HERE = "us-central1-docker.pkg.dev/my-lab"
PRICE = cost_of(dollars(1, 1)).declared.month.known
BEFORE, AFTER = swapped(4, 0), swapped(2, 2)
EDITS: dict[str, Edit | tuple[Edit, Sequence[ResourceView]]] = {
    "a freeze": edit(config(freezes=FREEZE)),
    "a freeze that may change nothing": edit(config(freezes=FREEZE), changes=None),
    "a freeze that is overridden": edit(config(freezes=OVERRIDE)),
    "a freeze whose override is over": edit(config(freezes=OVERRIDE.replace("until: 2026-11-22", "until: 2026-11-20"))),
    "a freeze whose time zone moves": edit(
        config(freezes=FREEZE.replace("America/Los_Angeles", "Asia/Tokyo")), before=config(freezes=FREEZE)
    ),
    "a freeze that stays among others": edit(config(freezes=LATER + FREEZE.replace("paper-d", "d")), before=config()),
    "a budget that is exceeded": edit(dollars(9, 100)),
    "a budget that is exceeded by less": edit(dollars(9, 100), before=dollars(9999, 100)),
    "a budget that is exceeded by as much": edit(dollars(9, 100), before=dollars(9, 100)),
    "a pool without a price": edit(
        config(
            pools=pool(name="a", accelerator="tpu7x-8", zones="{us-central1-c: 1}", capacity="on-demand")
            + pool(name="b", accelerator="tpu7x-8", zones="{us-central1-c: 1}", capacity="on-demand"),
            budget="usd_per_month: 100\n",
        )
    ),
    "a swap in a full reservation": edit(AFTER, order=order(BEFORE, AFTER)),
    "a swap of what nobody knows": edit(AFTER),
    "a service from another repository": service(f"{HERE}/a/service", registries=REGISTRIES),
    "a service from another region": service(
        "europe-west4-docker.pkg.dev/my-lab/marin/service",
        registries="regions: [us-east1]\nrepositories: [{name: tests}]\n",
    ),
    "a service where nothing is declared": service(f"{HERE}/marin/service"),
    "a swap in a quota that another stack declares": edit(config(), siblings=(sibling(quotas=QUOTA),)),
    "a stack whose file goes": edit(config(), before=config(), removed=True),
    "a stack that moves": edit(parse(text().replace("project: my-lab", "project: other-lab")), before=parse(text())),
    "a bucket that moves": edit(
        parse(stack_text(pools=POOLS).replace("location: us", "location: eu")), before=config()
    ),
    "secrets, regions, repositories and a pool of identities that go": edit(
        config(), before=config(secrets=SECRETS, registries=REGISTRIES, github=GITHUB)
    ),
    "a secret and a repository that go": edit(
        config(
            secrets="- {name: key, readers: []}\n",
            registries="regions: [us-central1, us-east1]\nrepositories: [{name: marin}]\n",
        ),
        before=config(secrets=SECRETS, registries=REGISTRIES),
    ),
    "a cluster that goes": edit(config(), before=of_cluster()),
    "a cluster that moves": edit(of_cluster(region="us-east5"), before=of_cluster()),
    "a cluster of another name": edit(of_cluster(name="another"), before=of_cluster()),
    "a repository of a stranger": edit(
        config(POOLS.replace("- name", "- serves: [Evil/repo, my-lab/code]\n  name")),
        before=config(POOLS.replace("- name", "- serves: [my-lab/code]\n  name")),
    ),
    "a first repository of another owner than the hub's": edit(
        config(POOLS.replace("- name", "- serves: [evil/code]\n  name"), github=GITHUB), before=config()
    ),
    "a fleet that grows": edit(
        config(pool(name="tpu-ci", zones="{us-west4-a: 2000}")), before=config(pool(name="tpu-ci"))
    ),
    "a fleet that grows without a price": edit(
        config(pool(name="a", accelerator="tpu7x-8", zones="{us-central1-c: 100}", capacity="on-demand")),
        before=config(pool(name="tpu-ci", zones="{us-west4-a: 9}")),
    ),
    "a fleet of one chip that grows": edit(
        config(pool(name="a", accelerator="v5litepod-1", zones="{us-west4-a: 66}")),
        before=config(pool(name="a", accelerator="v5litepod-1")),
    ),
    "a fleet that grows for an hour a month": edit(
        config(pool(name="a", zones="{us-west4-a: 200}")),
        before=config(pool(name="a")),
        window_hours={"a": 1.0},
    ),
    "an exception that is over": edit(config(exceptions=exception(day="2026-11-20"))),
    "an exception to an edit that is over": edit(config(exceptions=exception("growth", "chips", "2026-11-20"))),
    "an exception to no rule": edit(config(exceptions=exception("no-default-acount"))),
    "an exception to nothing like a rule": edit(config(exceptions=exception("zzz"))),
    "an exception that meets nothing": (edit(config(exceptions=exception())), [vm()]),
    "the second of two exceptions, which meets nothing": (
        edit(config(exceptions=exception() + exception(subject="tpu-ci-us-west4-a-O"))),
        [DEFAULT],
    ),
    "an exception to an edit behind one of which nothing is known": edit(
        config(exceptions=exception() + exception("growth", "chips")), before=config()
    ),
    "an exception to an edit that meets nothing": edit(
        config(exceptions=exception("growth", "chips")), before=config()
    ),
}
RIGHT: dict[str, Edit] = {
    "a budget that is just met": edit(dollars(1, PRICE)),
    "a pool whose only count is none": edit(dollars(0, 1)),
    "a freeze that another edit took away": edit(config(), before=None),
    "a service from a repository of another stack": service(
        f"{HERE}/marin/service", siblings=(sibling(registries=REGISTRIES),)
    ),
    "a cluster that may go": edit(config(), before=of_cluster(deletion_protection=False)),
    "a cluster that stays": edit(of_cluster(), before=of_cluster()),
    "a cluster that comes": edit(of_cluster(), before=config()),
    "secrets and registries that come": edit(
        config(secrets=SECRETS, registries=REGISTRIES, github=GITHUB), before=config()
    ),
    "a first repository of the owner of the hub": edit(
        config(POOLS.replace("- name", "- serves: [My-Lab/code]\n  name"), github=GITHUB), before=config()
    ),
    "a first repository where nobody names an owner": edit(
        config(POOLS.replace("- name", "- serves: [evil/repo]\n  name")), before=config()
    ),
    "a repository that a pool served already": edit(
        config(POOLS.replace("- name", "- serves: [evil/REPO, my-lab/code]\n  name")),
        before=config(POOLS.replace("- name", "- serves: [Evil/repo, my-lab/code]\n  name")),
    ),
    "an exception to an edit that is merged": edit(config(exceptions=exception("growth", "chips"))),
    "an exception to a resource of a stack that goes": edit(
        config(exceptions=exception() + exception("apply-refuses", "stack ci")), before=config(), removed=True
    ),
}


def found(case: Edit | tuple[Edit, Sequence[ResourceView]]) -> tuple[Finding, ...]:
    return judge(*case) if isinstance(case, tuple) else judge(case)


@pytest.mark.parametrize("case", EDITS.values(), ids=EDITS)
def test_an_edit_that_is_wrong_by_a_little_is_found(case: Any) -> None:
    assert found(case)


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_an_edit_that_is_right_by_a_little_is_not_found(case: Edit) -> None:
    assert rules(found(case)) == []


def test_the_words_of_every_finding_over_an_edit_are_those_that_were_read_last(update_goldens: bool) -> None:
    said = ""
    for name, case in EDITS.items():
        said += f"{name}\n"
        for each in found(case):
            said += f"  {each.rule} ({each.level}) {each.subject}: {each.reason}\n    {each.fix}\n"
    if update_goldens:
        GOLDEN.write_text(said, encoding="utf-8")
    assert said == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
