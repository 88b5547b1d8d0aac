"""Whole files kept in one bucket, sent up from a disk and read back by ranges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import obstore
from obstore.exceptions import BaseError

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, PermanentError, StoreUnavailableError
from fonds.stores.keys import check_key
from fonds.stores.s3.address import open_store, parse_address
from fonds.stores.s3.answers import code_of, explain, is_absent, without_request

ValueT = TypeVar("ValueT")

PIECE_BYTES = 16 * 1024**2
"""One request gives so much at most, so that a slow line has the time of a request for each."""

SENT_AT_ONCE = 4
KEYS_AT_ONCE = 1_000
PROBED = "is-the-bucket-there"
PARTS_MAX = 9_000
"""S3 takes 10,000 parts of one object."""


class S3Bucket:
    """Objects below the prefix of one bucket, by key. Safe for several threads.

    Nothing is tried again here: every method may raise StoreUnavailableError, StorageFullError, and
    ConfigurationError when the keys are refused or the bucket is gone.
    """

    def __init__(self, url: str) -> None:
        """`url` as `s3.address` says. Raises ConfigurationError for one that cannot be used; a server
        that does not answer now is no error."""
        self._address = parse_address(url)
        self._store = open_store(self._address)
        try:
            self.size_of(PROBED)
        except StoreUnavailableError:
            # It may be back when it is needed.
            return

    def __repr__(self) -> str:
        return f"S3Bucket({self._address.shown!r})"

    @property
    def shown(self) -> str:
        """The URL as people are told it, without keys."""
        return self._address.shown

    def all_keys(self) -> Iterator[str]:
        """The keys of all objects, in no order; a thousand a request, streamed."""
        prefix = self._address.prefix
        pages = obstore.list(self._store, prefix or None, chunk_size=KEYS_AT_ONCE)
        while page := self._asked(lambda: next(pages, None)):
            yield from (one["path"].removeprefix(f"{prefix}/") for one in page)

    def size_of(self, key: str) -> int | None:
        """How many bytes an object has; None when there is none."""
        try:
            return self._answered(lambda name: obstore.head(self._store, name)["size"], key)
        except FileNotFoundError:
            return None

    def sha256_of(self, key: str, size_bytes: int) -> str:
        """The SHA-256 in hex of an object's first `size_bytes`, read back from the server."""
        digest = hashlib.sha256()
        for start in range(0, size_bytes, PIECE_BYTES):
            piece, _ = self.fetch(key, start, min(PIECE_BYTES, size_bytes - start))
            digest.update(piece)
        return digest.hexdigest()

    def upload(self, key: str, path: Path, content_type: str) -> None:
        """A file as an object: there when the last part is, replacing what was there. Raises OSError."""
        part_bytes = max(PIECE_BYTES, path.stat().st_size // PARTS_MAX)
        with path.open("rb") as stream:
            self._answered(
                lambda name: obstore.put(
                    self._store,
                    name,
                    stream,
                    attributes={"Content-Type": content_type},
                    chunk_size=part_bytes,
                    max_concurrency=SENT_AT_ONCE,
                ),
                key,
            )

    def fetch(self, key: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """The bytes from `start` on, at most `size_bytes` (at least 1), and the whole object's length.

        Raises PermanentError (MISSING_SOURCE) when there is none, DamagedInputError (DAMAGED_RECORD) when
        it ends before `start`.
        """

        def act(name: str) -> tuple[bytes, int]:
            found = obstore.get(self._store, name, options={"range": (start, start + size_bytes)})
            return found.bytes().to_bytes(), found.meta["size"]

        try:
            return self._answered(act, key)
        except FileNotFoundError:
            raise PermanentError(
                Reason.MISSING_SOURCE, f"{self.shown} has no object {key}"
            ) from None

    def _answered(self, act: Callable[[str], ValueT], key: str) -> ValueT:
        """What `act` gives for an object's name. Raises FileNotFoundError when there is no such object."""
        check_key(key)
        prefix = self._address.prefix
        return self._asked(lambda: act(f"{prefix}/{key}" if prefix else key), key)

    def _asked(self, act: Callable[[], ValueT], key: str = "") -> ValueT:
        try:
            return act()
        except (BaseError, FileNotFoundError) as error:
            if is_absent(error):
                raise FileNotFoundError(key) from without_request(error)
            if code_of(error) == "InvalidRange" or str(error).startswith("416"):
                raise DamagedInputError(
                    Reason.DAMAGED_RECORD, f"{key} ends before this offset in {self.shown}"
                ) from without_request(error)
            raise explain(error, self._address) from without_request(error)
