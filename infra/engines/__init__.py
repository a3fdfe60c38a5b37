"""One interface over both engines, and the choice between them and between clouds."""

from infra.engines.protocol import CloudName, Engine, EngineError, EngineName, Listener, Request

__all__ = ["CloudName", "Engine", "EngineError", "EngineName", "Listener", "Request"]
