"""What works on Google Cloud, commands too, loads nothing of the local cloud or the embedded engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ON_GOOGLE = """
import sys
from importlib import import_module
from pathlib import Path

for name in sorted((*Path("infra/operations").rglob("*.py"), *Path("infra/cli").rglob("*.py"))):
    if "local" not in name.parts and name.name != "__main__.py":
        import_module(".".join(name.with_suffix("").parts).removesuffix(".__init__"))

from infra.operations.errors import EngineError
from infra.operations.fleet.looks import declared_place
from infra.operations.ports import CloudName
from infra.operations.session import open_session
from infra.operations.declared.stack_file import declared
from infra.operations.stacks.preview import preview

wanted = declared("ci")
session = open_session("ci", cloud=CloudName.GOOGLE)
declared_place(wanted.config, session.endpoint)
try:
    preview(session, wanted)
except EngineError as error:
    print(error)
print(sorted(name for name in sys.modules if name.startswith("bench")))
"""


def test_an_operation_on_google_cloud_loads_nothing_local(tmp_path: Path) -> None:
    pulumi = tmp_path / "pulumi"
    pulumi.write_text("#!/bin/sh\n[ $1 = version ] && echo v3.259.0 && exit 0\necho this is no engine >&2\nexit 1\n")
    pulumi.chmod(0o755)
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TIDEPOOL_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": "gs://nowhere",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "GOOGLE_OAUTH_ACCESS_TOKEN": "x",
    }
    command = [sys.executable, "-c", ON_GOOGLE]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) > 1, "the engine was asked"
    assert said[-1] == "[]"
