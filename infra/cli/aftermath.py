"""After an apply, whole or partly failed: publish the desired fleet, then read how every pool stands.

Neither keeps the other from being done: what could not be done is a problem that the command tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from infra.cli.render.console import show
from infra.cli.render.pools import ended_line, pools_table, registries_line
from infra.cli.session import Declared, Session
from infra.engines.states import PoolState, list_nodes, pool_states
from infra.fleet.google import GoogleError
from infra.fleet.publish import Published, publish
from infra.model.fleet import capacity
from infra.model.schema import StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """published: the manifest as it now stands in the fleet bucket, None where it could not be written."""

    config: StackConfig
    pools: tuple[PoolState, ...]
    published: Published | None
    problems: tuple[str, ...]

    @property
    def registries(self) -> Mapping[str, tuple[str, ...]]:
        """Repositories by region."""
        declared = self.config.registries
        if declared is None:
            return {}
        return dict.fromkeys(declared.regions, tuple(each.name for each in declared.repositories))

    def show(self, session: Session) -> None:
        for problem in self.problems:
            session.say(Text(f"problem: {problem}", style="bold red"))
        if self.published is not None:
            session.say(Text(manifest_line(self.published), style="dim"))
        session.say("")
        show_pools(session, self.pools)
        if self.registries:
            session.say("")
            session.say(registries_line(self.registries))

    def to_json(self) -> dict[str, Any]:
        return {
            "pools": [pool.to_json() for pool in self.pools],
            "registries": {region: list(names) for region, names in self.registries.items()},
            "manifest": self.published and manifest_json(self.published),
            "problems": list(self.problems),
        }


def look_after(stack: Declared, endpoint: str | None) -> Aftermath:
    """Publish and read. endpoint: the local cloud's root URL, None on Google."""
    config = stack.config
    problems: list[str] = []
    published: Published | None = None
    try:
        published = publish(config, endpoint, registry=stack.registry, siblings=stack.siblings)
    except GoogleError as error:
        problems.append(
            f"the desired fleet was not published: {error}; then run `./tidepool manifest publish {config.stack}`"
        )
    listing = list_nodes(config, endpoint)
    problems += [f"{zone} did not say how its VMs stand: {why}" for zone, why in listing.silent.items()]
    return Aftermath(
        config=config, pools=pool_states(capacity(config), listing), published=published, problems=tuple(problems)
    )


def show_pools(session: Session, pools: Sequence[PoolState]) -> None:
    """The table of pools, and below it what VMs that have ended need."""
    show(session.console, pools_table(pools))
    if ended := [name for pool in pools for name in pool.ended]:
        session.say("")
        session.say(ended_line(session.request.stack, ended))


def manifest_line(published: Published) -> str:
    """Where the manifest is, and whether it is new."""
    said = "published" if published.manifest.changed else "unchanged"
    where = f"gs://{published.bucket}/{published.manifest_object}"
    return f"manifest {said}: {where} (generation {published.manifest.generation})"


def manifest_json(published: Published) -> dict[str, Any]:
    """What `manifest publish --json` and `up --json` say of a publication."""
    return {
        "bucket": published.bucket,
        "object": published.manifest_object,
        "generation": published.manifest.generation,
        "changed": published.changed,
        "bundle": f"sha256:{published.bundle_sha256}",
    }
