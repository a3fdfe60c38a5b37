"""Each risk of an edit as it is told: its kind, whom it is about, its words and the names that it counts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infra.preview.meaning import RiskKind
from infra.preview.money import Priced
from infra.preview.sums import ledger_lines
from tests.model.given import parse, pool, sibling, stack_text
from tests.preview.test_slices_told import slices
from tests.preview.two_versions import meaning

LABELLED = pool(name="one", labels="[both]") + pool(name="two", labels="[both]")
TWO = pool(zones="{us-west4-a: 2}")
SECRETS = "- {name: app-key, readers: [broker]}\n"
REGISTRIES = "regions: [us-west4]\nrepositories:\n  - name: images\n"
GITHUB = "repository: lab/fleet\nenvironments: [apply]\n"
MAKERS = "run_makers:\n  - {repository: lab/code, pool: r, workflows: [b.yaml, a.yaml]}\n"
WINTER = '- {name: winter, time_zone: Europe/Berlin, from: "2026-11-20", to: "2026-11-30"}\n'
BOTH = ("other-us-west4-a-0", "other-us-west4-a-1")
MOVES = (
    "the stack moves from project my-lab to new-lab: all of it is made anew there, and `up` refuses to delete what is "
    "protected in my-lab"
)
UP_REFUSES = "`up` refuses to delete secret app-key, which is protected: put it back, or unprotect it first"
MAY_MAKE = "more workflows may make TPU VMs for their runs: lab/code a.yaml as pool r, lab/code b.yaml as pool r"
FILES = ("lab/code a.yaml as pool r", "lab/code b.yaml as pool r")
Told = tuple[RiskKind, str, str, tuple[str, ...]]


def told(before: str, after: str, **facts: Any) -> list[Told]:
    known: dict[str, Any] = {"busy": {}, "labels_used": {}, **facts}
    return [(each.kind, each.subject, each.says, each.names) for each in meaning(before, after, **known).risks]


def of(*kinds: RiskKind, told: list[Told]) -> list[Told]:
    return [each for each in told if each[0] in kinds]


def test_a_label_without_a_pool_or_a_vm_is_told_with_those_who_ask_for_it() -> None:
    used = {"BOTH": ("b.yaml", "a.yaml"), "one": ("c.yaml",), "Nobody": ("e.yaml", "d.yaml")}
    asks = ("a.yaml", "b.yaml")
    label = RiskKind.LABELS
    lost = told(stack_text(pools=LABELLED), stack_text(pools=pool(name="third")), labels_used=used)
    nobody = (label, "nobody", "label nobody is used by d.yaml, e.yaml, and no pool has it", ("d.yaml", "e.yaml"))
    workflows = "loses its last pool (one, two); workflows that use it: a.yaml, b.yaml"
    assert of(label, told=lost) == [
        (label, "both", f"label both {workflows}", asks),
        nobody,
        (label, "one", "label one loses its last pool (one); workflows that use it: c.yaml", ("c.yaml",)),
        (label, "two", "label two loses its last pool (two); workflows that use it: none", ()),
    ]
    empty = told(stack_text(pools=LABELLED), stack_text(pools=LABELLED.replace("a: 1", "a: 0")), labels_used=used)
    assert of(label, told=empty) == [
        (label, "both", "label both keeps no standing VM (pool one, two has 0)", asks),
        nobody,
        (label, "one", "label one keeps no standing VM (pool one has 0)", ("c.yaml",)),
        (label, "two", "label two keeps no standing VM (pool two has 0)", ()),
    ]


def test_what_nobody_could_say_is_told_once_each() -> None:
    gone = stack_text(pools="[]\n")
    unknown = told(stack_text(pools=TWO), gone, busy=None, labels_used=None)
    assert of(RiskKind.NOT_KNOWN, told=unknown) == [
        (RiskKind.NOT_KNOWN, "busy runners", "whether the runners of VMs that go are busy: not known", ()),
        (RiskKind.NOT_KNOWN, "labels used", "labels that workflows use: not known", ()),
    ]
    assert [each[2].rpartition("; ")[2] for each in of(RiskKind.LABELS, told=unknown)] == [
        "workflows that use it: not known"
    ]
    assert of(RiskKind.NOT_KNOWN, told=told(stack_text(pools=TWO), gone)) == []


@pytest.mark.parametrize(
    ("before", "after", "facts", "risk"),
    [
        (
            stack_text(pools=TWO),
            stack_text(pools=pool(zones="{us-west4-a: 2}", accelerator="v5litepod-8", capacity="preemptible")),
            {},
            (
                RiskKind.REPLACE,
                "other in us-west4-a",
                "2 VMs of other in us-west4-a replaced, forced by accelerator, capacity; none is busy",
                BOTH,
            ),
        ),
        (
            stack_text(pools=TWO),
            stack_text(pools=pool(zones="{us-west4-a: 0}", labels="[]")),
            {"busy": dict(zip(BOTH, ("a job", "another"), strict=True))},
            (
                RiskKind.DELETE,
                "other in us-west4-a",
                "2 VMs of other in us-west4-a deleted; busy: other-us-west4-a-0 (a job), other-us-west4-a-1 (another)",
                BOTH,
            ),
        ),
        (
            stack_text(pools=TWO),
            stack_text(pools=TWO, vm_labels="a: b\n"),
            {},
            (
                RiskKind.IN_PLACE,
                "other in us-west4-a",
                "2 VMs of other in us-west4-a changed in place (labels), none replaced",
                BOTH,
            ),
        ),
        (
            stack_text(pools=TWO),
            stack_text(pools=TWO + pool(name="forks", trust="fork")),
            {},
            (RiskKind.TRUST, "forks", "new pool forks has trust fork: any pull request will run there", ()),
        ),
        (
            stack_text(pools=pool(trust="protected")),
            stack_text(pools=pool(trust="member")),
            {},
            (
                RiskKind.TRUST,
                "other",
                "pool other opens from protected to member: pull requests from branches will run there",
                (),
            ),
        ),
        (
            stack_text(pools=pool(serves="[lab/one]")),
            stack_text(pools=pool(serves="[lab/one, lab/Two, lab/three]")),
            {},
            (
                RiskKind.TRUST,
                "other",
                "pool other serves more repositories: lab/three, lab/two",
                ("lab/three", "lab/two"),
            ),
        ),
        (
            stack_text(secrets=SECRETS),
            stack_text(secrets=SECRETS.replace("broker", "broker, pool/tpu-ci")),
            {},
            (RiskKind.TRUST, "app-key", "secret app-key may be read by more: pool/tpu-ci", ("pool/tpu-ci",)),
        ),
        (
            stack_text(github=GITHUB),
            stack_text(github=GITHUB.replace("apply", "apply, z, b")),
            {},
            (
                RiskKind.TRUST,
                "github lab/fleet",
                "workflows of lab/fleet may apply from more environments: b, z",
                ("b", "z"),
            ),
        ),
        (
            stack_text(github=GITHUB),
            stack_text(github=GITHUB + MAKERS),
            {},
            (RiskKind.TRUST, "github lab/fleet", MAY_MAKE, FILES),
        ),
        (
            stack_text(freezes=WINTER),
            stack_text(freezes="[]\n", pools=TWO),
            {},
            (
                RiskKind.FREEZE,
                "winter",
                "freeze winter stands until 2026-12-01 00:00 Europe/Berlin; this edit removes it",
                (),
            ),
        ),
        (
            stack_text(registries=REGISTRIES, secrets=SECRETS),
            stack_text(registries=REGISTRIES),
            {},
            (RiskKind.UNAPPLIABLE, "secret app-key", UP_REFUSES, ()),
        ),
        (
            stack_text(registries=REGISTRIES, secrets=SECRETS),
            stack_text(registries=REGISTRIES),
            {},
            (
                RiskKind.PROTECTION,
                "secret app-key",
                "secret app-key is protected and leaves the file: what it holds would be lost",
                (),
            ),
        ),
        (
            stack_text(),
            stack_text().replace("project: my-lab", "project: new-lab"),
            {},
            (
                RiskKind.UNAPPLIABLE,
                "project my-lab",
                MOVES,
                (),
            ),
        ),
    ],
)
def test_each_risk_says_what_it_is_and_of_whom(before: str, after: str, facts: dict[str, Any], risk: Told) -> None:
    assert of(risk[0], told=told(before, after, **facts)) == [risk]


def test_a_github_repository_that_comes_may_apply_and_make_vms() -> None:
    may_apply = "workflows of lab/fleet may preview, and apply from apply; before, none"
    assert of(RiskKind.TRUST, told=told(stack_text(), stack_text(github=GITHUB + MAKERS))) == [
        (RiskKind.TRUST, "github lab/fleet", MAY_MAKE, FILES),
        (RiskKind.TRUST, "github lab/fleet", may_apply, ("apply",)),
    ]


def test_an_exception_that_comes_says_its_rule_its_end_and_its_reason() -> None:
    excepted = "- {rule: no-fork-secrets, subject: pool other, expires: 2026-12-01, reason: An old job needs it.}\n"
    (found,) = of(RiskKind.PROTECTION, told=told(stack_text(), stack_text(exceptions=excepted)))
    says = "rule no-fork-secrets is excepted for pool other until 2026-12-01: An old job needs it."
    assert found == (RiskKind.PROTECTION, "rule no-fork-secrets", says, ())
    assert of(RiskKind.PROTECTION, told=told(stack_text(exceptions=excepted), stack_text(exceptions=excepted))) == []


def test_a_freeze_that_is_overridden_and_removed_says_both() -> None:
    over = WINTER.replace("}", ', override: {until: "2026-11-22", reason: a deadline}}')
    (found,) = of(RiskKind.FREEZE, told=told(stack_text(freezes=over), stack_text(pools=TWO)))
    assert found[2] == (
        "freeze winter stands until 2026-12-01 00:00 Europe/Berlin; overridden until 2026-11-22: a deadline; "
        "this edit removes it"
    )


def test_vms_that_no_limit_has_room_for_are_told_by_name() -> None:
    quota = "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: 8, kind: preemptible}\n"
    before, after = (stack_text(pools=pool(zones=f"{{us-west4-a: {count}}}"), quotas=quota) for count in (1, 4))
    why = "us-west4-a v5e preemptible quota: 16 of 8 chips are declared, 4 are held"
    assert of(RiskKind.UNAPPLIABLE, told=told(before, after)) == [
        (
            RiskKind.UNAPPLIABLE,
            "limits",
            f"2 VMs can never be made: {why}",
            ("other-us-west4-a-2", "other-us-west4-a-3"),
        )
    ]


# Sums


def test_slices_of_another_reservation_are_replaced_for_their_capacity() -> None:
    held = "- {name: a, project: my-lab, zone: us-central2-b, generation: v4, chips: 64}\n"
    before = slices("number: 1").replace("capacity: spot", "capacity: {reserved: a}") + (
        f"  tidepool:reservations:\n    {held}"
    )
    after = before.replace("reserved: a}", "reserved: b}").replace("name: a,", "name: b,")
    found = meaning(before, after)
    (risk,) = [each for each in found.risks if each.kind is RiskKind.REPLACE]
    assert risk.forced_by == ("capacity",)
    more = meaning(before, before.replace("number: 1", "number: 2"))
    assert not [each for each in more.risks if each.kind is RiskKind.REPLACE]
    assert all(line.after.priced is Priced.SUNK and line.after.capacity == "reserved" for line in more.money.lines)


def test_chips_of_a_place_that_is_left_and_of_one_that_comes_have_each_a_line() -> None:
    found = meaning(stack_text(pools=TWO), stack_text(pools=pool(zones="{us-east1-c: 3}", unlisted_zone=None)))
    lines = {(line.zone, line.limit, line.kind): (line.chips.before, line.chips.after) for line in found.ledger}
    assert lines == {
        ("us-west4-a", "all pools", "sum"): (8, 0),
        ("us-east1-c", "all pools", "sum"): (0, 12),
    }


def test_limits_of_another_stack_have_a_line_where_this_one_draws_on_them() -> None:
    quota = "- {{project: {project}, zone: us-west4-a, generation: v5e, chips: 64, kind: preemptible}}\n"

    def lines(project: str, pools: str) -> list[str]:
        other = sibling(project=project, quotas=quota.format(project=project))
        head = parse(stack_text(pools=pools), siblings=(other,))
        return [line.limit for line in ledger_lines(head, [other], head, [other], datetime(2026, 11, 24, tzinfo=UTC))]

    assert lines("my-lab", TWO) == ["preemptible quota", "all pools"]
    assert lines("my-lab", "[]\n") == [], "this stack draws on none of it"
    assert lines("their-lab", TWO) == ["all pools"], "another project"


def test_a_pool_that_goes_is_counted_by_what_it_was_priced_as() -> None:
    found = meaning(stack_text(pools=TWO), stack_text(pools=pool(zones="{us-west4-a: 0}"))).money
    assert (found.estimated, found.sunk, found.unpriced) == (("other",), (), ())
    assert [line.before.capacity for line in found.lines] == ["spot"]
    assert [(line.after.priced, line.after.capacity) for line in found.lines] == [(Priced.NONE, "spot")]


@pytest.mark.parametrize(
    ("accelerator", "zone", "capacity", "spelled", "hosts", "limit"),
    [
        ("v5litepod-1", "us-west4-a", "spot", "1 chip on 1 host", 1, "v5e preemptible quota"),
        ("v5litepod-4", "us-west4-a", "on-demand", "4 chips on 1 host", 1, "v5e on-demand quota"),
        ("v4-32", "us-central2-b", "{reserved: a}", "16 chips on 4 hosts", 4, "v4 reservation"),
    ],
)
def test_a_pool_is_spelled_out_with_its_limit(
    accelerator: str, zone: str, capacity: str, spelled: str, hosts: int, limit: str
) -> None:
    held = "- {name: a, project: my-lab, zone: us-central2-b, generation: v4, chips: 64}\n"
    pools = pool(accelerator=accelerator, zones=f"{{{zone}: 1}}", capacity=capacity)
    before, after = (stack_text(pools=each, reservations=held) for each in ("[]\n", pools))
    found = meaning(before, after)
    (change,) = found.pools
    assert (change.spelled, change.hosts.after, change.limit) == (f"{accelerator} is {spelled}", hosts, limit)
    assert set(found.money.by_kind) == {capacity} - {"{reserved: a}"}, "what is reserved moves no money"


def test_windows_count_on_the_limit_that_they_draw_on() -> None:
    quota = "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: 16, kind: preemptible}\n"
    window = "[{name: night, start: 0 2 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: %d}}]"
    before, after = (
        stack_text(pools=pool(zones="{us-west4-a: 0}", windows=window % count), quotas=quota) for count in (1, 2)
    )
    (line,) = [each for each in meaning(before, after).ledger if each.limited]
    assert (line.chips.before, line.chips.after) == (4, 8)
