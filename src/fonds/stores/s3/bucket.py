"""Upload files to one S3 bucket, and read byte ranges of its objects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import obstore
from obstore.exceptions import BaseError

from fonds.model.disposition import Reason
from fonds.model.errors import (
    DamagedInputError,
    PermanentError,
    StoreUnavailableError,
)
from fonds.stores.blobs import check_key
from fonds.stores.s3.client import (
    explain,
    find_error_code,
    is_absent,
    open_store,
    parse_address,
    strip_request,
)

ValueT = TypeVar("ValueT")

PIECE_BYTES = 16 * 1024**2
"""Maximum bytes per request to S3. On a slow line, each request then has its full timeout for this
many bytes.
"""

UPLOAD_PARTS_MAX = 4
LIST_BATCH = 1_000
PROBED = "is-the-bucket-there"
PARTS_MAX = 9_000
"""Maximum parts of one upload. S3 allows 10,000 parts per object."""


class S3Bucket:
    """Objects below a prefix of one S3 bucket, by key. Thread-safe.

    Failed requests are not retried. Every method raises StoreUnavailableError if the server does
    not answer, StorageFullError if it has no space, and ConfigurationError if it rejects the access
    keys or the bucket is missing.
    """

    def __init__(self, url: str) -> None:
        """Open an S3 bucket. `fonds.stores.s3.client` describes the formats of `url`.

        Raises ConfigurationError if the bucket cannot be used as configured. A server that does not
        answer is not an error yet.
        """
        self._address = parse_address(url)
        self._store = open_store(self._address)
        try:
            self.get_size(PROBED)
        except StoreUnavailableError:
            # It may be available when it is needed.
            return

    def __repr__(self) -> str:
        return f"S3Bucket({self._address.display_url!r})"

    @property
    def display_url(self) -> str:
        """The URL of the bucket without access keys."""
        return self._address.display_url

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys of all objects below the prefix in the bucket's URL, unordered, a thousand
        per request.
        """
        prefix = self._address.prefix
        pages = obstore.list(self._store, prefix or None, chunk_size=LIST_BATCH)
        while page := self._call(lambda: next(pages, None)):
            yield from (item["path"].removeprefix(f"{prefix}/") for item in page)

    def get_size(self, key: str) -> int | None:
        """Return the size of an object of the bucket in bytes; None if the object does not
        exist.
        """
        try:
            return self._call_object(lambda name: obstore.head(self._store, name)["size"], key)
        except FileNotFoundError:
            return None

    def compute_sha256(self, key: str, size_bytes: int) -> str:
        """Download the first `size_bytes` of an S3 object and return their SHA-256 in hex."""
        digest = hashlib.sha256()
        for start in range(0, size_bytes, PIECE_BYTES):
            piece, _ = self.fetch(key, start, min(PIECE_BYTES, size_bytes - start))
            digest.update(piece)
        return digest.hexdigest()

    def upload(self, key: str, path: Path, content_type: str) -> None:
        """Upload a file in parts, replacing any object with this key. The object appears when the
        last part is complete.

        Raises OSError if the file cannot be read.
        """
        part_bytes = max(PIECE_BYTES, path.stat().st_size // PARTS_MAX)
        with path.open("rb") as stream:
            self._call_object(
                lambda name: obstore.put(
                    self._store,
                    name,
                    stream,
                    attributes={"Content-Type": content_type},
                    chunk_size=part_bytes,
                    max_concurrency=UPLOAD_PARTS_MAX,
                ),
                key,
            )

    def fetch(self, key: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return up to `size_bytes` (at least 1) of an object from the offset `start`, and the size
        of the whole object, in bytes.

        Raises PermanentError (MISSING_SOURCE) if the object does not exist, and DamagedInputError
        (DAMAGED_RECORD) if it ends before `start`.
        """

        def act(name: str) -> tuple[bytes, int]:
            response = obstore.get(
                self._store, name, options={"range": (start, start + size_bytes)}
            )
            return response.bytes().to_bytes(), response.meta["size"]

        try:
            return self._call_object(act, key)
        except FileNotFoundError:
            raise PermanentError(
                Reason.MISSING_SOURCE, f"{self.display_url} has no object {key}"
            ) from None

    def _call_object(self, act: Callable[[str], ValueT], key: str) -> ValueT:
        """Call `act` with the full name of an S3 object, which is the prefix and `key`. Raises
        FileNotFoundError if the object does not exist.
        """
        check_key(key)
        prefix = self._address.prefix
        return self._call(lambda: act(f"{prefix}/{key}" if prefix else key), key)

    def _call(self, act: Callable[[], ValueT], key: str = "") -> ValueT:
        try:
            return act()
        except (BaseError, FileNotFoundError) as error:
            if is_absent(error):
                raise FileNotFoundError(key) from strip_request(error)
            if find_error_code(error) == "InvalidRange" or str(error).startswith("416"):
                raise DamagedInputError(
                    Reason.DAMAGED_RECORD, f"{key} ends before this offset in {self.display_url}"
                ) from strip_request(error)
            raise explain(error, self._address) from strip_request(error)
