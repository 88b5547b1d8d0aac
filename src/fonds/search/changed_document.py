"""Document that differs from an earlier search or export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """Document that differs from an earlier search or export: edited, extracted again, no longer
    found, or removed."""

    change: Annotated[str, Meta(description="kind of change of the document")]
    id: Annotated[str, Meta(description="id of the document; empty if it was taken down")]
    sha1hex: Annotated[str, Meta(description="SHA-1 of the file; empty if it was taken down")]
    title: Annotated[str, Meta(description="title of the document; empty if it is not looked up")]
    why: Annotated[str, Meta(description="details of the change")]
