"""`./tidepool up`, `refresh`, `adopt`, `forget`, `destroy`, `output`: what an engine does and recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from infra.cli import options
from infra.cli.call import Invocation, called, called_aside
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render import progress as progresses
from infra.cli.render import stacks as rendered
from infra.model import plan as plans
from infra.model import planned_capacity
from infra.operations import session as sessions
from infra.operations.declared import stack_file
from infra.operations.errors import Failure
from infra.operations.fleet import nodes
from infra.operations.fleet import pools as pool_states
from infra.operations.stacks import aftermath, aftermath_words, destroy, stack_words, state
from infra.operations.stacks import apply as applying
from infra.operations.stacks import forget as forgetting
from infra.operations.stacks import preview as previews
from infra.operations.stacks import saved as saved_plans
from infra.preview import cluster_lines, plan_lines, run_lines
from infra.preview.toned import Tone, toned


@click.command()
@options.each(options.stack_argument, options.place_options, options.refresh_option, options.work_options)
@click.option("--no-drain", is_flag=True, help="Delete and replace VMs at once, and cut off the jobs that they run.")
@click.option(
    "--kube", type=options.A_FILE_THERE, metavar="KUBECONFIG", help="An API server for the local cloud's clusters."
)
@click.option("--plan", "saved", type=options.A_FILE_THERE, help="Do what `preview --save` has written, or nothing.")
@options.each(options.yes_option, options.json_option)
@called
def up_command(call: Invocation, *, no_drain: bool, kube: Path | None, saved: Path | None) -> int:
    """Make the cloud as the stack file says: show the plan, apply it, and show how every pool stands. The manifest
    and the start-up bundle are its first resources, so that the fleet bucket has them also when a part failed; where
    VMs come and others go, the manifest declares both until the others do.

    What is new is made first, and waited for until it serves. Then VMs that go or are made again take no more jobs, and
    what they run is waited for; if it runs on after the stack's `job_minutes`, they stay. Where a reservation or a
    quota has no room for both, the VMs that give chips back go before, under the same confirmation (docs/phases.md).
    One pool's failure keeps no other from being applied; the next run does only what is missing.

    The local cloud is started where it does not run, and left running. On Google Cloud the plan is asked about first,
    unless --plan says what was agreed on: then nothing is done where another resource or value would change.
    Exit code 0 when all is done, 1 when something failed or a rule stops it (docs/rules.md), 2 when the stack file is
    invalid and nothing was changed.
    """
    wanted = stack_file.declared(call.stack)
    session = call.session()
    if kube is not None:
        sessions.give_clusters(session, kube)
    planned = applying.plan_apply(session, wanted, drains=not no_drain)
    rendered.show_planned(call.console, planned, call.detail)
    call.say(*plan_lines.describe_findings(planned.findings))
    if planned.stopped:
        if planned.findings and not call.as_json:
            session.say("nothing was changed: mend the findings above that stop it, or except them in the stack file")
        return call.end(planned, failed=True)
    if saved is not None:
        saved_plans.insist_on(saved, planned)
    else:
        call.ask_before_google(f"Applying this plan for {call.stack}", session.cloud)
    progress = progresses.Progress(call.console, planned.plan, total=planned.changes, quiet=call.quiet)
    run = applying.apply(session, planned, progress, drains=not no_drain)
    call.say(*run_lines.outcome(run, progress.seconds))
    after = aftermath.look_after(wanted.config, run, session.endpoint, session.clock())
    call.say(*aftermath_words.aftermath_shown(after, quiet=call.quiet))
    if not call.quiet:
        again = "up" if run.failed else "status"
        call.say("", toned((f"next: ./tidepool {again} {call.stack}{call.same if run.failed else ''}", Tone.QUIET)))
    told = {"outcomes": [each.to_json() for each in planned_capacity.outcomes(run)]}
    more = planned.findings_json | told | after.to_json()
    return _end(call, run, progress.seconds, more, planned, failed=bool(run.failed or after.problems))


@click.command()
@options.each(
    options.stack_argument, options.place_options, options.work_options, options.yes_option, options.json_option
)
@called
def refresh_command(call: Invocation) -> int:
    """Read every resource of the state from its cloud and record what it says. Nothing in the cloud is changed.

    What differs from what is declared is told, and what is gone; what only Google counts, such as an etag or the state
    of a VM, is taken over. A preempted VM still exists, so that up does not make it again: the table of pools shows it,
    and the line below says how.
    """
    config = stack_file.declared(call.stack).config
    session = call.session()
    call.ask_before_google(f"Reading every resource of {call.stack}", session.cloud)
    progress = progresses.Progress(call.console, lines=False, quiet=call.quiet)
    run = state.refresh(session, progress)
    call.say(*run_lines.drift(run, progress.seconds))
    pools, silent = pool_states.pools_now(config, session.endpoint)
    cluster = nodes.nodes_now(config, session.endpoint)
    if not call.quiet:
        standing = cluster_lines.cluster_shown(cluster) if cluster else ()
        call.say("", *stack_words.pools_shown(call.stack, pools), *standing)
    more = {"pools": [pool.to_json() for pool in pools], "cluster": cluster.to_json() if cluster else None}
    return _end(call, run, progress.seconds, more, failed=bool(run.failed or silent))


@click.command()
@options.stack_argument
@click.argument("targets", metavar="[NAME]...", nargs=-1, type=options.Name("vm"))
@options.each(options.place_options, options.yes_option, options.json_option)
@called
def adopt_command(call: Invocation) -> int:
    """Import the existing cloud resources that the stack file declares, that belong to this stack and that the state
    lacks: a VM that the controller created after a stockout, what `forget` removed from the state, or what an apply
    created before it was killed. Nothing in the cloud is changed. With the pulumi CLI this imports VMs; name others.

    `up` and `preview` do this by themselves. Run it before a plain `pulumi up`, which fails with 409 on such a
    resource. A VM with other labels is named and left alone, and the exit code is 1.

    NAME is taken over whoever made it, if the stack file declares it: a VM with other labels, or a registry such as
    us-central1/images. What differs from its declaration is an update or a replacement of the next plan.
    """
    stack_file.declared(call.stack)
    session = call.session()
    call.ask_before_google(f"Writing the state of {call.stack}", session.cloud)
    progress = progresses.Progress(call.console)
    run = state.adopt(session, progress)
    if run.steps or run.failed:
        call.say(*run_lines.outcome(run, progress.seconds))
    else:
        session.say(f"{call.stack}: nothing to adopt, in {progress.seconds:.1f} s", Tone.GOOD)
    if call.targets and run.steps:
        session.say(f"next: ./tidepool preview {call.stack} says what differs from its declaration")
    return _end(call, run, progress.seconds)


@click.command()
@options.stack_argument
@click.argument("targets", metavar="NAME...", nargs=-1, required=True, type=options.Name("vm", "pool"))
@options.each(options.place_options, options.yes_option, options.json_option)
@called
def forget_command(call: Invocation) -> int:
    """Let the state go of what has NAME, * for anything, and of all in the state that needs it. The cloud keeps it.

    Asks on Google Cloud, and everywhere where it is protected or a VM runs a job.
    """
    session = call.session()
    plan = forgetting.preview_forget(session)
    rendered.show_plan(call.console, plan, "every")
    concerns = list(forgetting.warnings(session, plan))
    call.say(*concerns, tone=Tone.WARNING)
    ask = call.ask if concerns else partial(call.ask_before_google, cloud=session.cloud)
    ask(f"Letting the state of {call.stack} go of {len(plan.steps)} resources")
    progress = progresses.Progress(call.console, lines=False)
    run = forgetting.forget(session, progress)
    call.say(*run_lines.outcome(run, progress.seconds), *forgetting.afterwards(plan))
    return _end(call, run, progress.seconds)


@click.command()
@options.each(options.stack_argument, options.place_options, options.work_options)
@click.option("--no-drain", is_flag=True, help="Delete VMs at once, and cut off the jobs that they run.")
@click.option("--exclude-protected", is_flag=True, help="Leave protected resources and what they need.")
@options.each(options.yes_option, options.json_option)
@called
def destroy_command(call: Invocation, *, no_drain: bool, exclude_protected: bool) -> int:
    """Delete all that a stack has made: show what goes, ask on every cloud, drain the VMs, and delete.

    Registries, secrets and the fleet bucket are protected: while the state has them, nothing is deleted at all, and
    nothing asked, unless --exclude-protected leaves them or --target names what shall go. What VMs run is waited for;
    if it runs on after the stack's `job_minutes`, nothing is deleted.
    """
    session = call.session()
    plan = destroy.preview_destroy(session, exclude_protected=exclude_protected)
    rendered.show_plan(call.console, plan, call.detail)
    extent = destroy.extent(session, plan, exclude_protected=exclude_protected)
    if plan.failed:
        if not exclude_protected and any("is protected" in (step.error or "") for step in plan.steps):
            session.say(f"next: ./tidepool destroy {call.stack} --exclude-protected, which leaves what is protected")
        return _end(call, plan, 0.0, extent.to_json())
    call.say(*run_lines.destroy_lines(extent.kept, extent.running.jobs, extent.running.unknown), tone=Tone.WARNING)
    whole = f"everything of {call.stack}" + (" that is not protected" if exclude_protected else "")
    what = f"{len(call.targets)} targets of {call.stack}" if call.targets else whole
    call.ask(f"Deleting {what} on {session.choice.cloud_name}")
    progress = progresses.Progress(call.console, plan, quiet=call.quiet)
    run = destroy.destroy(session, plan, progress, drains=not no_drain, exclude_protected=exclude_protected)
    call.say(*run_lines.outcome(run, progress.seconds))
    return _end(call, run, progress.seconds, extent.to_json())


def _end(
    call: Invocation, run: plans.Plan, seconds: float, more: Mapping[str, Any] = MappingProxyType({}),
    planned: previews.Planned | None = None, *, failed: bool | None = None,
) -> int:  # fmt: skip
    """Print the object of a run that has ended; its exit code. failed: None where the run alone says it."""
    code = FAILED if (run.failed if failed is None else failed) else 0
    rows, phases = (planned.rows, planned.phases) if planned else ((), None)
    call.tell(previews.run_document(run, rows, phases, seconds=seconds, code=code) | dict(more))
    return code


@click.command()
@options.stack_argument
@click.argument("name", required=False)
@options.each(options.place_options, options.json_option)
@called_aside
def output_command(call: Invocation, *, name: str | None) -> None:
    """Print the outputs of a stack as last recorded (pools, registries, identities, manifest), or the one named NAME.

    With --json all are one object. Secrets stay masked.
    """
    stack = call.stack
    session = sessions.open_session(stack, engine=call.engine, cloud=call.cloud, teller=call.teller, starts_cloud=False)
    found = session.engine().outputs()
    if name is not None:
        if name not in found:
            raise Failure(f"{stack} has no output {name}; it has {', '.join(sorted(found)) or 'none: run up first'}")
        found = {name: found[name]}
    if call.as_json:
        echo(json.dumps(found if name is None else found[name], indent=2))
        return
    for key, value in sorted(found.items()):
        echo(f"{key}: {value if isinstance(value, str) else json.dumps(value, indent=2)}")
    if not found:
        session.say(f"{stack} has no outputs; `./tidepool up {stack}` records them")
