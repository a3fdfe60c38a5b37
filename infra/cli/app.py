"""The command group: which commands there are, what a newcomer reads first, and how a failure is told.

Owns the table of commands, loaded one by one when asked for (`lazy`), and the exit codes: 0 done,
1 failed or findings, 2 wrong usage or invalid configuration, 130 interrupted. What a command does is its module's.
"""

from __future__ import annotations

from typing import Any

import click

from infra.cli import failures
from infra.cli.echo import echo
from infra.cli.lazy import Entry, LazyGroup

SECTIONS: dict[str, dict[str, Entry]] = {
    "The fleet": {
        "up": Entry("infra.cli.stacks", "Make the cloud as the stack file says."),
        "preview": Entry("infra.cli.preview", "Say what up would change, and change nothing."),
        "explain": Entry("infra.cli.preview", "Say what an edit of a stack file means."),
        "refresh": Entry("infra.cli.stacks", "Record in the state what the cloud says."),
        "adopt": Entry("infra.cli.stacks", "Take into the state what stands in the cloud and it lacks (import)."),
        "forget": Entry("infra.cli.stacks", "Let the state go of resources, and the cloud keep them."),
        "destroy": Entry("infra.cli.stacks", "Delete all that a stack has made."),
        "history": Entry("infra.cli.history", "Say what was applied to a stack, when and by whom."),
        "diff": Entry("infra.cli.history", "Say what differs between two applies of a stack."),
        "calendar": Entry("infra.cli.preview", "Show the next seven days: VMs, chips, limits and dollars."),
        "config": Entry("infra.cli.preview", "Print what a stack file says."),
        "validate": Entry("infra.cli.preview", "Say every mistake in stack files, fast, before a commit."),
        "schema": Entry("infra.cli.preview", "Print the JSON Schema of stack files, for editors."),
        "output": Entry("infra.cli.stacks", "Print a stack's outputs."),
        "manifest": Entry("infra.cli.status", "Show the desired fleet in the fleet bucket."),
        "status": Entry("infra.cli.status", "Say how pools, VMs, runners and queues stand."),
        "report": Entry("infra.cli.report", "Write what is known of the whole estate as one page."),
        "why": Entry("infra.cli.status", "Say why a pool, zone, VM, run or job is as it is."),
        "logs": Entry("infra.cli.status", "Print what a VM wrote: its supervisor and its console."),
        "ssh": Entry("infra.cli.status", "Open a shell on a VM by gcloud, or say what must be allowed first."),
        "reconcile": Entry("infra.cli.reconcile", "Bring the fleet to what its manifest says."),
        "drain": Entry("infra.cli.steer", "Keep a pool or a VM from new jobs, and wait for those that run."),
        "rollout": Entry("infra.cli.steer", "Show, pause, resume or undo how new versions go through pools."),
        "zone": Entry("infra.cli.steer", "Give up a zone that does not come back, or take that back."),
        "broker": Entry("infra.cli.reconcile", "Serve the token broker, which registers the fleet's runners."),
    },
    "Runs": {"run-on": Entry("infra.cli.run_on", "Run one command on a TPU VM that is made for it, and delete it.")},
    "Images": {"images": Entry("infra.cli.images", "Say what images are, build them, and give them to pools.")},
    "Training": {
        "jobs": Entry("infra.cli.jobs", "Submit training jobs, and say what state they are in and why."),
        "smoke": Entry("infra.cli.jobs", "Check this machine, a cluster and a TPU with four small jobs."),
    },
    "Tests": {
        "results": Entry("infra.cli.results", "Keep results of test runs, and tell what is broken or slower."),
        "cost": Entry("infra.cli.cost", "Say what a month costs: by run, suite and pool, and to its end."),
    },
    "Workflow files": {
        "workflows": Entry("infra.cli.workflows", "Write and check the workflow files that are generated.")
    },
    "The pull request": {
        "comment": Entry("infra.cli.pulls", "Write and post the comment of a pull request."),
        "plan": Entry("infra.cli.pulls", "Compare what is planned with what was reviewed."),
        "drift": Entry("infra.cli.pulls", "Tell drift in an issue."),
    },
    "The clouds": {
        "cloud": Entry("bench.commands.cloud", "Drive the local Google Cloud: start, stop, preempt, fail, ..."),
        "init": Entry("infra.cli.init", "Write the files of another lab, from a few questions."),
        "bootstrap": Entry("infra.cli.bootstrap", "Prepare a Google Cloud project for its first deploy."),
    },
    "This checkout": {
        "doctor": Entry("infra.cli.setup", "Say what is installed here, and what each absence means."),
        "completion": Entry("infra.cli.setup", "Complete commands and names in bash, zsh or fish."),
        "test": Entry("infra.cli.setup", "Run every check of this repository."),
        "bench": Entry("infra.cli.setup", "Measure previews and applies at several sizes of fleet."),
        "lock": Entry("infra.cli.setup", "Write the lock files anew from pyproject.toml."),
    },
}


class Commands(LazyGroup):
    """All of them; a failure of any is told here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: click.Context) -> Any:
        with failures.told(ctx):
            return super().invoke(ctx)


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from infra.operations.setup.versions import versions  # reads packages, which no command needs

        echo(versions())
        ctx.exit()


@click.group(
    cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Say which commit this is, and the versions of Pulumi and its Google provider.",
)  # fmt: skip
def cli() -> None:
    """Tidepool owns a lab's Cloud TPU capacity. One file a stack,
    stacks/Pulumi.STACK.yaml, says what there shall be; the rest is derived.

    \b
    First steps, with no account and nothing else to install:
      ./tidepool up ci         make the CI fleet, on a Google Cloud on this laptop
                               ... edit a number in stacks/Pulumi.ci.yaml ...
      ./tidepool preview ci    read what the edit means
      ./tidepool up ci         make it so

    Where the pulumi CLI and Google credentials are set up, the same commands work on Google Cloud, and ask first.
    Every command has --help, and --json where a program may want to read its answer.
    """
