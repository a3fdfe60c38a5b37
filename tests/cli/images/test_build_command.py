"""`./tidepool images build`: an option that would be heeded nowhere is refused."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from infra.cli.app import cli


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--trigger", "--context", "."), "leave --trigger out"),
        (("--trigger", "--image-for", "BASE_IMAGE=a"), "leave --trigger out"),
        (("--trigger", "--no-cache"), "leave --trigger out"),
        (("--revision", f"marin-community/tidepool={'a' * 40}"), "with --trigger"),
    ],
)
def test_an_option_that_is_not_heeded_is_refused(options: tuple[str, ...], said: str) -> None:
    refused = CliRunner().invoke(cli, ["images", "build", "controller", *options], prog_name="tidepool")
    assert refused.exit_code == 2
    assert said in refused.stderr
