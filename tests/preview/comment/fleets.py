"""Fleets on a local cloud, made once, for previews of edits by the real engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.cloud.testing import TestCloud
from bench.embedded import EmbeddedEngine
from infra.engines.protocol import CloudName, EngineRequest
from infra.model.plan import Plan

ENVIRON = {"PULUMI_CONFIG_PASSPHRASE": "correct horse"}


class Fleets:
    """What stands, by the text of its stack file; each with a checkout and a state of its own."""

    def __init__(self, folder: Path, cloud: TestCloud) -> None:
        self._folder = folder
        self._cloud = cloud
        self._roots: dict[str, Path] = {}

    def preview(self, before: str, after: str, environ: Mapping[str, str] = ENVIRON) -> Plan:
        """What the engine would do to the fleet of `before`, empty for none, to make it that of `after`."""
        root = self._roots.get(before) or self._made(before)
        return self._engine(root, after, environ).preview()

    def _made(self, text: str) -> Path:
        root = self._folder / str(len(self._roots))
        (root / "stacks").mkdir(parents=True)
        if text:
            run = self._engine(root, text, ENVIRON).up()
            assert not run.failed, [step.error for step in run.steps if step.error] or run.diagnostics
        self._roots[text] = root
        return root

    def _engine(self, root: Path, text: str, environ: Mapping[str, str]) -> EmbeddedEngine:
        (root / "stacks" / "Pulumi.ci.yaml").write_text(text)
        request = EngineRequest(
            root=root, home=root / "home", stack="ci", cloud=CloudName.LOCAL, cloud_url=self._cloud.url
        )
        return EmbeddedEngine(request, environ=environ)
