"""The official pulumi CLI as an engine."""

from infra.engines.official.engine import OfficialEngine
from infra.engines.official.steps import plan_from_preview_json

__all__ = ["OfficialEngine", "plan_from_preview_json"]
