"""The documents of a cluster, or of those in none for a reason: a page of them, or all ids streamed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from fonds.collections.names import Name
from fonds.collections.reading.clusters import MEMBERS_MAX, Members, members, members_apart
from fonds.collections.tables import Tables
from fonds.model.errors import TransientError


@dataclass(frozen=True, slots=True)
class Listed:
    """Documents of a clustering: of the cluster `label` of a level, or of those in none for that reason."""

    tables: Tables
    name: Name
    conf: str
    time: int
    level: int
    label: str
    is_reason: bool = False

    def page(self, after: bytes | None, count: int) -> Members | None:
        """A page of them; None where there is no such cluster or reason. Raises ValueError for an `after`
        that is none of its places."""
        if self.is_reason:
            return members_apart(
                self.tables, self.name, self.conf, self.time,
                reason=self.label, after=after, count_max=count,
            )  # fmt: skip
        return members(
            self.tables, self.name, self.label, self.conf, self.time,
            level=self.level, after=after, count_max=count,
        )  # fmt: skip

    def ids(self) -> Iterator[bytes]:
        """All ids as a JSON array. Raises TransientError, which cuts the answer short, where the clustering
        is removed meanwhile: nobody takes a part for the whole."""
        after, begun = None, b"["
        while True:
            page = self.page(after, MEMBERS_MAX)
            if page is None:
                raise TransientError(f"the clustering of {self.time} was removed while it was read")
            if page.members:
                yield begun + msgspec.json.encode([one.id for one in page.members])[1:-1]
                begun = b","
            after = page.after
            if after is None:
                yield b"[]" if begun == b"[" else b"]"
                return


def place_of(after: str) -> bytes | None:
    """A place in a list as it stands in an address. Raises ValueError."""
    if not after:
        return None
    try:
        return base64.b64decode(after.encode("ascii", "replace"), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no place in a list") from error
