"""What every part of a document that pydantic reads is: frozen, and refusing keys that it does not know.

Its validator is built at its first use. That of a document builds those of its parts, and most commands read few
documents: a model that is never read costs a start a tenth of what building it would.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class DocumentPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
