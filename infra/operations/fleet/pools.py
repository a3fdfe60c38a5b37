"""How what is declared stands in the cloud: each pool and zone with the states that the TPU API tells, and grants.

Owns the comparison of declared VMs with listed nodes. Does not own what to do about a difference. A preempted VM is no
difference to Pulumi, so this table, not a plan, is where it shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from infra.engines.standing import nodes_in
from infra.fleet.google import Api, GoogleError, clients
from infra.fleet.policies import GrantsSeen, grants_seen
from infra.model.fleet import CapacityRow, capacity
from infra.model.json_shape import JsonShape
from infra.model.names import vm_name
from infra.model.schema import StackConfig
from infra.model.stack import siblings
from infra.operations.workspace import workspace

READY = "READY"
MISSING = "MISSING"
"""Said of a declared slice that its zone does not list; no state of the TPU API."""
ENDED = frozenset(("PREEMPTED", "TERMINATED", "STOPPED"))
"""States in which a node is listed, gives no capacity, and stays so until somebody acts."""
UNKNOWN = "UNKNOWN"
"""Said of slices whose zone did not answer."""

NodeStates = Mapping[str, str]
"""Node names of one zone with their states (`READY`, `PREEMPTED`, ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState(JsonShape):
    """What is declared of a pool in one zone, and how many VMs stand in which state.

    ended: names of those in `ENDED`; missing: of those that no zone lists.
    """

    JSON = ("row.*", "states")

    row: CapacityRow
    states: Mapping[str, int]
    ended: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        return set(self.states) <= {READY}

    @property
    def is_partly_ready(self) -> bool:
        return READY in self.states

    def __str__(self) -> str:
        """`2 READY`, or `1 READY, 1 PREEMPTED`; empty where no slice is declared."""
        states = sorted(self.states.items(), key=lambda state: (state[0] != READY, state[0]))
        return ", ".join(f"{count} {state}" for state, count in states)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeListing:
    """Every zone's nodes, and of the zones that did not answer why not."""

    nodes: Mapping[str, NodeStates]
    silent: Mapping[str, str]


def pools_now(config: StackConfig, endpoint: str | None) -> tuple[tuple[PoolState, ...], Mapping[str, str]]:
    """How every declared pool stands, and why a zone did not say so. endpoint: as for `list_nodes`."""
    listing = list_nodes(config, endpoint)
    return pool_states(capacity(config), listing), listing.silent


def pool_states(rows: Iterable[CapacityRow], listing: NodeListing) -> tuple[PoolState, ...]:
    """Each declared pool and zone, those with no slices too."""
    return tuple(_pool_state(row, listing) for row in rows)


def list_nodes(config: StackConfig, endpoint: str | None) -> NodeListing:
    """Ask the TPU API of every zone that the stack may use; one zone's silence costs the others nothing.

    endpoint: root URL of the local cloud, None on Google.
    """
    zones = sorted({zone for pool in config.pools for zone in pool.reach})
    nodes: dict[str, NodeStates] = {}
    silent: dict[str, str] = {}
    try:
        google = clients(config.project, endpoint)
    except GoogleError as error:
        return NodeListing(nodes={}, silent=dict.fromkeys(zones, str(error)))
    with google:
        api = google.api(Api.TPU).projects().locations().nodes()
        for zone in zones:
            try:
                listed = nodes_in(api, f"projects/{config.project}/locations/{zone}")
            except GoogleError as error:
                silent[zone] = str(error)
            else:
                nodes[zone] = {node["name"].rpartition("/")[2]: node.get("state", UNKNOWN) for node in listed}
    return NodeListing(nodes=nodes, silent=silent)


def _pool_state(row: CapacityRow, listing: NodeListing) -> PoolState:
    names = [vm_name(row.pool, row.zone, index) for index in range(row.slices)]
    nodes = listing.nodes.get(row.zone, dict.fromkeys(names, UNKNOWN))
    states = {name: nodes.get(name) or _elsewhere(name, row.zone, listing) for name in names}
    ended = tuple(name for name, state in states.items() if state in ENDED)
    missing = tuple(name for name, state in states.items() if state == MISSING)
    return PoolState(row=row, states=Counter(states.values()), ended=ended, missing=missing)


def _elsewhere(name: str, home: str, listing: NodeListing) -> str:
    """The state of a VM that its home does not list: it may be at a fallback of its pool, under the same name."""
    found = (f"{nodes[name]} in {zone}" for zone, nodes in listing.nodes.items() if zone != home and name in nodes)
    return next(found, MISSING)


def policies_of(config: StackConfig, endpoint: str | None) -> GrantsSeen:
    """What stands in the policies of a stack. Where they cannot be read at all, that."""
    stacks = (config, *siblings(workspace().root, config.stack))
    try:
        return grants_seen(config, stacks, endpoint)
    except GoogleError as error:
        return GrantsSeen(unread=(str(error),))
