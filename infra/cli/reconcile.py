"""`./tidepool reconcile STACK`: one sweep of the controller, or with --watch one after another.

Owns where GitHub and its token come from and how a sweep is printed. What a sweep does is `infra.fleet.controller`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime

import click
from rich.text import Text

from infra.cli import options
from infra.cli.failures import FAILED, Failure
from infra.cli.render.console import machines, people
from infra.cli.session import Session, declared, open_session
from infra.engines.protocol import CloudName
from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import subject
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.lease import LeaseTakenError, wall_clock
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.outcomes import Result
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept, summary
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.records import Records
from infra.local.cloud.control import CloudClock, Control
from infra.local.cloud.github.control import GitHubControl
from infra.model.schema import StackConfig

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a name
API = "GITHUB_API_URL"
GITHUB = "https://api.github.com"
_LOCAL_TOKEN = "tidepool-controller"  # noqa: S105 - known to the local GitHub alone, and to nobody else


@click.command(name="reconcile", short_help="Bring the fleet to what its manifest says, as the controller does.")
@options.stack_argument
@options.cloud_option
@click.option("--watch", is_flag=True, help="Sweep again and again, until interrupted.")
@click.option(
    "--every", type=click.FloatRange(1), default=120.0, show_default=True, help="With --watch: seconds between sweeps."
)
@options.yes_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context, *, stack: str, cloud: CloudName | None, watch: bool, every: float, yes: bool, as_json: bool
) -> None:
    """Look at every zone and at GitHub, decide by the rules of docs/controller.md, and act within its limits.

    It works from the manifest in the fleet bucket, which `./tidepool up` publishes, and holds the lease that `up`
    holds. On Google Cloud, GitHub is asked with the token in GITHUB_TOKEN; without one, nothing that needs GitHub's
    word is done.

    Exit code 0 when the sweep did all that it decided, 1 when something of it failed or it could not begin.
    """
    config = declared(stack).config
    session = open_session(stack, engine=None, cloud=cloud, console=people(as_json=as_json))
    session.ask_before_google(f"Reconciling the fleet of {stack}", yes=yes)
    failed = False
    with clients(config.project, session.endpoint) as google:
        sweeper = _sweeper(config, session, google)
        while True:
            failed = _one(sweeper, session, as_json=as_json, watch=watch)
            if not watch:
                break
            time.sleep(every)
    ctx.exit(FAILED if failed else 0)


def _one(sweeper: Sweeper, session: Session, *, as_json: bool, watch: bool) -> bool:
    """One sweep, printed; whether anything failed. While watching, one that cannot begin ends nothing."""
    try:
        swept = sweeper.sweep()
    except (LeaseTakenError, SweepError, GoogleError) as error:
        if not watch:
            raise Failure(str(error)) from None
        session.say(Text(str(error), style="yellow"))
        return True
    if as_json:
        machines(swept.to_json())
    else:
        _show(session, swept)
    return any(outcome.result is Result.FAILED for outcome in swept.outcomes)


def _show(session: Session, swept: Swept) -> None:
    session.say(f"{swept.at:%Y-%m-%d %H:%M:%S} {summary(swept)}")
    for outcome in swept.outcomes:
        kind = type(outcome.action).__name__.lower()
        result = "" if outcome.result is Result.DONE else f" {outcome.result.value}: {outcome.text}"
        session.say(f"  {kind} {subject(outcome.action)}: {outcome.action.reason}{result}")
    for held in swept.decision.held:
        session.say(Text(f"  held {subject(held.action)}: {held.why}", style="yellow"))
    for waiting in swept.decision.waiting:
        until = f" until {waiting.until:%H:%M}" if waiting.until else ""
        session.say(Text(f"  waiting {waiting.subject}: {waiting.reason}{until}", style="dim"))
    for finding in swept.decision.findings:
        session.say(Text(f"  stands {finding.subject}: {finding.reason} (since {finding.since:%H:%M})", style="dim"))


def _sweeper(config: StackConfig, session: Session, google: Clients) -> Sweeper:
    records = Records(google=google, bucket=config.bucket.name)
    github = _github(config, session.endpoint)
    clock: Callable[[], datetime] = wall_clock
    if session.endpoint is not None:
        clock = CloudClock(Control(session.endpoint))

    def actor(desired: Desired) -> Actor:
        return Actor(google=google, records=records, github=github, desired=desired)

    observer = Observer(project=config.project, bucket=config.bucket.name, endpoint=session.endpoint, github=github)
    return Sweeper(stack=config.stack, records=records, observer=observer, actor=actor, clock=clock)


def _github(config: StackConfig, endpoint: str | None) -> RunnerApi | None:
    """GitHub and its token: the local one knows the repositories that the stack serves; elsewhere it is told."""
    if endpoint is None:
        token = os.environ.get(TOKEN, "")
        return RunnerApi(api=os.environ.get(API, GITHUB), token=lambda _: token) if token else None
    control = GitHubControl(endpoint)
    for repository in sorted({repository for pool in config.pools for repository in pool.serves}):
        control.keep_repository(repository)
    control.add_token(_LOCAL_TOKEN, "tidepool-controller")
    return RunnerApi(api=control.api, token=lambda _: _LOCAL_TOKEN)
