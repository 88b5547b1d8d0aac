"""Exchanges that lie among the blobs until they are archived, read as any other place, then and later."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1

from fonds.formats.coding import codings_of, decode_body
from fonds.formats.spooled import capture_of, from_spool
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.ports import Blobs
from fonds.stores.archive.bodies.read_over import BodyReader

ArchivedAt = Callable[[str], Place | None]
"""Where the capture of this id was archived; None while it was not."""


class SpooledBodies:
    """Reads what lies among the blobs of the spool, or in `archive` once that has it."""

    def __init__(
        self, archive: BodyReader, blobs: Blobs, archived_at: ArchivedAt, body_max_bytes: int
    ) -> None:
        self._archive = archive
        self._blobs = blobs
        self._archived_at = archived_at
        self._body_max_bytes = body_max_bytes

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says. What the spool has forgotten lies in a WARC, and is read there."""
        if place.kind is not PlaceKind.SPOOL:
            return self._archive.read(place, sha1hex)
        blob = self._blobs.get(place.path)
        if blob is None:
            there = self._archived_at(capture_of(place.path))
            if there is None:
                told = f"{place.path} is in the spool no more, and was not archived"
                raise PermanentError(Reason.MISSING_SOURCE, told)
            return self._archive.read(there, sha1hex)
        payload = self._payload(blob)
        if sha1hex is not None and sha1(payload.body).hexdigest() != sha1hex:  # noqa: S324
            told = f"{place.path}: the bytes here are no longer those of {sha1hex}"
            raise DamagedInputError(Reason.DAMAGED_RECORD, told)
        return payload

    def _payload(self, blob: bytes) -> Payload:
        exchange, sent = from_spool(blob)
        http = exchange.hops[-1].http
        # The transfer coding was undone when it came in.
        codings = [name for name in codings_of(http) if name != "chunked"]
        body = decode_body(lambda: iter([sent]), codings, body_max_bytes=self._body_max_bytes)
        return Payload(body, http, exchange=exchange)
