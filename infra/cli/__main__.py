"""Entry point of `python -m infra.cli`, which the launcher starts."""

from infra.cli.app import cli

cli(prog_name="tidepool")
