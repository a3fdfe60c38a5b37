"""Whatever happens, quotas and reservations are counted exactly and never exceeded."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct

POT: dict[str, Any] = {"project": "lab", "zone": "us-west4-a", "generation": "v5e", "capacity": "preemptible"}
ACTIONS = st.one_of(
    st.tuples(st.just("create"), st.integers(0, 5), st.sampled_from([1, 4, 8])),
    st.tuples(st.sampled_from(["delete", "start", "stop", "preempt"]), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(0, 200)),
    st.tuples(st.just("stockout"), st.just(0), st.just(0)),
)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 24), st.lists(ACTIONS, max_size=30))
def test_whatever_happens_a_limit_is_never_exceeded_and_the_account_is_exact(
    chips: int, actions: list[tuple[str, int, int]]
) -> None:
    direct = Direct()
    direct.control("limit", {**POT, "chips": chips})
    for verb, index, value in actions:
        path = f"/v2/{ZONE}/nodes"
        if verb == "create":
            direct.ask("POST", f"{path}?nodeId=vm-{index}", {**NODE, "acceleratorType": f"v5litepod-{value}"})
        elif verb == "delete":
            direct.ask("DELETE", f"{path}/vm-{index}")
        elif verb in ("start", "stop"):
            direct.ask("POST", f"{path}/vm-{index}:{verb}", {})
        elif verb == "preempt":
            direct.control("preempt", {"node": f"vm-{index}"})
        elif verb == "stockout":
            direct.control("fail", {"kind": "stockout", "count": 1})
        else:
            direct.wall.advance(value / 1000)
        nodes = direct.control("nodes")[1]
        at_rest = ("STOPPED", "PREEMPTED")
        running = sum(int(n["acceleratorType"][10:]) for n in nodes if n["state"] not in at_rest)
        account = direct.control("limits")[1][0]["held"]
        assert account == running <= chips
