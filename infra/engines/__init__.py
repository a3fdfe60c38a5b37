"""One interface over both engines, and the choice between them and between clouds."""

from infra.engines.protocol import CloudName, Engine, EngineName, EngineRequest, Listener
from infra.model.errors import EngineError

__all__ = ["CloudName", "Engine", "EngineError", "EngineName", "EngineRequest", "Listener"]
