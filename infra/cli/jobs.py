"""`./tidepool jobs` and `smoke`: training jobs on a cluster, on Ray or on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from typing import Any

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo, host_log, machines
from infra.jobs import client, outcomes, request
from infra.jobs.choices import BACKENDS, FAILURES, PREEMPTIONS, SIGNALS, STEPS
from infra.operations import jobs as operation
from infra.operations import jobs_words, smoke
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace

_name = click.argument("name", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class JobPlace:
    """Where jobs go, as the options say."""

    call: Invocation
    backend: str
    namespace: str
    context: str

    @cached_property
    def jobs(self) -> operation.JobBackend:
        return operation.open_jobs(
            self.backend, namespace=self.namespace, context=self.context, teller=self.call.teller
        )


def _placed(command: Callable[..., int | None]) -> Callable[..., None]:
    """Hand a command the place that its options name."""

    @click.option(
        "--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
        help="Where jobs run; auto takes what is there.",
    )  # fmt: skip
    @click.option(
        "--namespace", default="", metavar="NAME", help="Namespace of the jobs; the kubeconfig's if not given."
    )
    @click.option(
        "--context", default="", metavar="NAME", help="Context of the kubeconfig; its current one if not given."
    )
    @options.json_option
    @called
    @wraps(command)
    def run(call: Invocation, *, backend: str, namespace: str, context: str, **given: Any) -> int | None:
        return command(call, JobPlace(call=call, backend=backend, namespace=namespace, context=context), **given)

    return run


def _counts(_: click.Context, __: click.Parameter, value: str) -> tuple[int, ...]:
    """`2`, or `1,2,4` of a flexible job."""
    try:
        return tuple(int(each) for each in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a number of slices; write 2, or 1,2,4 where any of them will do"
        ) from None


@click.group(cls=options.Group)
def jobs_command() -> None:
    """Submit training jobs, and say what state they are in and why.

    Jobs go to the cluster that this process runs in or that the kubeconfig names, to Ray where RAY_API_SERVER_ADDRESS
    names it, else they run on this machine; --backend says otherwise.
    """


@jobs_command.command()
@_name
@click.argument("argv", metavar="[-- PROGRAM [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--call", "imported", metavar="MODULE:FUNCTION", help="Call a function in place of a program.")
@click.option("--arguments", default="{}", metavar="JSON", help="With --call: its arguments by name.")
@click.option("--tpu", metavar="TYPE", help="Accelerator type, such as v4-32; none without it.")
@click.option(
    "--slices", default="1", show_default=True, callback=_counts,
    help="How many slices, or the numbers that will do: 1,2,4.",
)  # fmt: skip
@click.option("--cpu", default="", help="CPUs of one pod: 4, 500m.")
@click.option("--memory", default="", help="Memory of one pod: 16Gi.")
@click.option("--disk", default="", help="Disk of one pod: 100Gi.")
@click.option(
    "--image", default="", metavar="IMAGE@sha256:...", help="The image, by digest; not needed on this machine."
)
@click.option(
    "--env", "environment", metavar="NAME=VALUE", multiple=True, callback=options.pairs,
    help="A variable of the program; may be repeated.",
)  # fmt: skip
@click.option(
    "--secret", "secrets", metavar="NAME=SECRET", multiple=True, callback=options.pairs,
    help="A variable from a secret of Secret Manager; may be repeated.",
)  # fmt: skip
@click.option("--queue", default="", help="LocalQueue of the namespace; if not given, the one that serves it.")
@click.option("--priority", default="", help="A priority class of Kueue.")
@click.option("--service-account", default="", help="Kubernetes service account of the pods.")
@click.option(
    "--preemptions", type=click.IntRange(0), default=PREEMPTIONS, show_default=True,
    help="Retries after preemptions, maintenance and failed machines.",
)  # fmt: skip
@click.option(
    "--failures", type=click.IntRange(0), default=FAILURES, show_default=True,
    help="Retries after errors of the program.",
)  # fmt: skip
@click.option(
    "--time-limit", type=options.Duration(), help="The longest that one attempt may run; with a queue, all together."
)
@click.option(
    "--signal", "checkpoint_signal", type=click.Choice(SIGNALS), default="TERM", show_default=True,
    help="The signal that the program gets before it is ended.",
)  # fmt: skip
@click.option(
    "--grace", type=options.Duration(), default="5m", show_default=True, help="The time from that signal to its end."
)
@click.option("--wait", "follows", is_flag=True, help="Wait until the job ends; exit code 1 unless it succeeds.")
@click.option("--dry-run", is_flag=True, help="Print the JobSet or the run, and submit nothing.")
@click.option("--on-vm", is_flag=True, help="Run it on a TPU VM that is made for it, to its end (docs/runs.md).")
@options.each(options.yes_option)
@_placed
def submit(
    call: Invocation, place: JobPlace, *, name: str, argv: tuple[str, ...], imported: str | None,
    arguments: str, tpu: str | None, slices: tuple[int, ...], preemptions: int, failures: int,
    time_limit: float | None, grace: float, follows: bool, dry_run: bool, on_vm: bool, **plain: Any,
) -> int | None:  # fmt: skip
    """Submit a job: a program after --, or a function by --call.

    With several numbers of --slices a job starts on the most that fit now. With --wait it goes on to more as they come
    free: that is considered every 3 hours, and not within 12 hours of a change. On this machine a job runs to its end
    within this command.

    A name whose job has not ended is refused.
    """
    if bool(argv) == bool(imported):
        raise Refusal("what runs is missing or given twice; write a program after --, or a function by --call")
    sizes = {size: plain.pop(size) for size in ("cpu", "memory", "disk")}
    wanted = partial(
        request.JobRequest,
        name=name,
        entry_point=request.ImportedCall(imported, operation.call_arguments(arguments))
        if imported
        else request.Command(argv),
        resources=request.Resources.with_tpu(tpu, slices, **sizes) if tpu else request.Resources(**sizes),
        retries=request.Retries(preemptions=preemptions, failures=failures),
        time_limit=None if time_limit is None else int(time_limit),
        grace=int(grace),
        **plain,
    )
    if on_vm:
        return _on_vm(call, wanted(), dry_run=dry_run)
    if dry_run:
        machines(operation.rendered(wanted(namespace=place.namespace or "default")))
        return None
    opened = place.jobs
    job = opened.submit(wanted(namespace=opened.namespace))
    state = job.state()
    if follows or state.backend == "local":
        try:
            state = opened.follow(job)
        except KeyboardInterrupt:
            if state.backend == "local":
                job.cancel()
            raise
    _tell(call, state, f"next: {opened.command('why', name)}")
    return None


def _on_vm(call: Invocation, request: request.JobRequest, *, dry_run: bool) -> int:
    from infra.operations import jobs_on_vms  # loads Google's clients, which no other job needs

    if dry_run:
        machines(jobs_on_vms.rendered(request))
        return 0
    state = jobs_on_vms.run_job(request, teller=call.teller, log=host_log(call.as_json), agree=call.ask_before_google)
    return _tell(call, state, failed=state.outcome is not outcomes.Outcome.SUCCESS)


@jobs_command.command(name="list")
@_placed
def list_command(call: Invocation, place: JobPlace) -> None:
    """List jobs, the newest first, with state and place in the queue."""
    states = place.jobs.states()
    call.end({"jobs": [operation.state_json(each) for each in states]}, *jobs_words.jobs_lines(states))


@jobs_command.command()
@_name
@click.option("--tail", type=click.IntRange(1), default=100, show_default=True, help="Lines of each host.")
@_placed
def logs(call: Invocation, place: JobPlace, *, name: str, tail: int) -> None:
    """Print the last lines of each host, each with SLICE/HOST."""
    lines = place.jobs.logs(name, tail)
    if call.as_json:
        call.end({"name": name, "lines": list(lines)})
        return
    for line in lines:
        echo(line)


@jobs_command.command()
@_name
@_placed
def cancel(call: Invocation, place: JobPlace, *, name: str) -> None:
    """End a job. Its program gets the checkpoint signal first; `why` and `list` still know the job."""
    _tell(call, place.jobs.cancel(name))


@jobs_command.command()
@_name
@_placed
def why(call: Invocation, place: JobPlace, *, name: str) -> None:
    """Say why a job waits, or how it ended.

    It ends as success, preempted, maintenance, failed (its machine), error (its program) or cancelled. The answer
    comes from fields of Kubernetes, Kueue and the TPU API, never from a log.
    """
    _tell(call, place.jobs.state(name))


@click.command()
@click.option("--to", "last", type=click.Choice(STEPS), default=STEPS[-1], show_default=True, help="The last step.")
@click.option("--image", default="", metavar="IMAGE@sha256:...", help="With Python and JAX; needed from `cluster` on.")
@click.option("--queue", default="", help="LocalQueue for the TPU step.")
@click.option("--cpu-queue", default="", help="LocalQueue for the steps without TPU.")
@_placed
def smoke_command(call: Invocation, place: JobPlace, **order: str) -> int:
    """Check this machine, a cluster and a TPU with four small jobs.

    One on this machine (local), one in a cluster (cluster), a small training there on CPUs (cpu), and the same on a
    TPU, a v4-8 (tpu). Stops at the first step that fails, and says why.
    """
    done = []
    for step in smoke.smoke(smoke.SmokeOrder(**order), workspace().home / "jobs", lambda: place.jobs):
        done.append(step)
        call.say(smoke.step_shown(step))
    return call.end({"steps": [each.to_json() for each in done]}, failed=not done[-1].passed)


def _tell(call: Invocation, state: client.JobState, more: str = "", *, failed: bool = False) -> int:
    if not call.as_json:
        call.say(*jobs_words.job_shown(state, more))
    return call.end(operation.state_json(state), failed=failed)
