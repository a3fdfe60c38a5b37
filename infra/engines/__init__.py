"""One interface over both engines, and the choice between them and between clouds."""

from infra.engines.protocol import CloudName, Engine, EngineName, Listener, Request
from infra.model.errors import EngineError

__all__ = ["CloudName", "Engine", "EngineError", "EngineName", "Listener", "Request"]
