"""Store blobs (bytes by key) as objects of an S3 bucket."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import TypeVar

import obstore
from obstore.exceptions import BaseError

from fonds.model.archive import Blob
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.stores.blobs import KEY_MAX_BYTES, PARTS_FOLDER, check_key
from fonds.stores.s3.client import (
    SILENCE_MAX_S,
    explain,
    is_absent,
    open_store,
    parse_address,
    strip_request,
)

ValueT = TypeVar("ValueT")

RETRY_TIMEOUT_S = 30.0
PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.0)
"""Delays between retries of a request to S3, in seconds; the last delay repeats."""

THREADS_MAX = 16
DELETE_BATCH_MAX = 1000
"""Maximum keys per delete request, the limit of S3."""

PUBLIC_PREFIX = "thumbnail/"
PUBLIC_CACHE_CONTROL = "public, max-age=31536000, immutable"

_HEADER = re.compile(r"[\x20-\x7e]+")
_ENCODED = re.compile("[%\x00-\x1f\x7f\ufffe\uffff]")


class S3Blobs:
    """Blob store that keeps each blob as an object of an S3 bucket.

    Implements the interface Blobs (`ports/stores.py`). A transient failure is retried for
    `give_up_s` seconds before it is raised; every request is safe to repeat. Blobs over 5 MB are
    uploaded in parts and appear when the last part is complete. A process killed in between leaves
    parts, which a lifecycle rule of the bucket should remove (AbortIncompleteMultipartUpload). The
    bucket must exist; its lifecycle rules belong to its owner.
    """

    def __init__(self, url: str, give_up_s: float = RETRY_TIMEOUT_S) -> None:
        """Open an existing bucket. `fonds.stores.s3.client` describes the formats of `url`.

        Raises ConfigurationError if the bucket does not exist or rejects the access keys.
        """
        self._address = parse_address(url)
        self._give_up_s = give_up_s
        self._store = open_store(self._address)
        self._threads = ThreadPoolExecutor(THREADS_MAX, "s3-blobs")
        self._fetch(self._quote_key(PARTS_FOLDER))

    def __repr__(self) -> str:
        return f"S3Blobs({self._address.display_url!r})"

    def put(self, blobs: Sequence[Blob]) -> None:
        """Store blobs with their content types, several in parallel, replacing those with the same
        keys. Blobs are as durable as the server promises.
        """
        list(self._threads.map(self._put, blobs))

    def _put(self, blob: Blob) -> None:
        key, content_type = blob.key, blob.content_type
        name = self._build_name(key)
        if not _HEADER.fullmatch(content_type):
            raise ConfigurationError(f"{content_type!r} is not a content type (blob key {key!r})")
        attributes = {"Content-Type": content_type}
        if key.startswith(PUBLIC_PREFIX):
            attributes["Cache-Control"] = PUBLIC_CACHE_CONTROL
        self._retry(lambda: obstore.put(self._store, name, blob.data, attributes=attributes))

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a blob, or None if the key does not exist."""
        return self._fetch(self._build_name(key))

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of the blob keys `keys` that exist, with one request per key, several in
        parallel.
        """
        return set(self.get_sizes(keys))

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each blob in `keys` that exists, by key, with one request per
        key, several in parallel.
        """
        names = {key: self._build_name(key) for key in keys}
        sizes = self._threads.map(self._get_size, names.values())
        return {key: size for key, size in zip(names, sizes, strict=True) if size is not None}

    def delete(self, keys: Sequence[str]) -> None:
        """Delete blobs, a thousand per request; absent keys are ignored."""
        names = [self._build_name(key) for key in dict.fromkeys(keys)]
        for start in range(0, len(names), DELETE_BATCH_MAX):
            self._remove(names[start : start + DELETE_BATCH_MAX])

    def purge(self) -> Sequence[str]:
        """Do nothing: the objects of deleted blobs are gone, unless the bucket keeps versions."""
        return (
            f"{self._address.display_url} keeps deleted objects if versioning of the bucket is on, "
            "until a lifecycle rule removes them.",
        )

    def close(self) -> None:
        """Stop the threads that send requests to S3, after running requests have finished. Waiting
        requests are cancelled.
        """
        self._threads.shutdown(cancel_futures=True)

    def _fetch(self, name: str) -> bytes | None:
        return self._retry(
            lambda: _get_or_none(lambda: obstore.get(self._store, name).bytes().to_bytes())
        )

    def _get_size(self, name: str) -> int | None:
        head = self._retry(lambda: _get_or_none(lambda: obstore.head(self._store, name)))
        return None if head is None else head["size"]

    def _remove(self, names: list[str]) -> None:
        self._retry(lambda: obstore.delete(self._store, names))

    def _retry(self, act: Callable[[], ValueT]) -> ValueT:
        """Call `act`; repeat the call after a transient error while enough of `give_up_s` is left
        for another attempt.

        Raises StoreUnavailableError when the time is over, and the translated error at once if a
        retry cannot help.
        """
        deadline = time.monotonic() + self._give_up_s - SILENCE_MAX_S
        pauses_s = chain(PAUSES_S, repeat(PAUSES_S[-1]))
        while True:
            try:
                return act()
            except (BaseError, FileNotFoundError) as error:
                pause_s = next(pauses_s)
                explained_error = explain(error, self._address)
                is_last_attempt = time.monotonic() + pause_s > deadline
                if is_last_attempt or not isinstance(explained_error, StoreUnavailableError):
                    raise explained_error from strip_request(error)
            time.sleep(pause_s)

    def _build_name(self, key: str) -> str:
        check_key(key)
        return self._quote_key(key)

    def _quote_key(self, key: str) -> str:
        """Return the name of the S3 object for a blob key: the prefix in the bucket's URL and the
        key. Characters that obstore or XML do not support are percent-encoded.

        Raises ConfigurationError if the name is over 1,024 bytes.
        """
        prefix = self._address.prefix
        full_key = f"{prefix}/{key}" if prefix else key
        name = _ENCODED.sub(lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), full_key)
        if len(name.encode()) > KEY_MAX_BYTES:
            raise ConfigurationError(
                f"the blob key {key[:80]!r}… is longer than {KEY_MAX_BYTES} bytes with "
                f"the prefix {prefix!r}"
            )
        return name


def _get_or_none(act: Callable[[], ValueT]) -> ValueT | None:
    try:
        return act()
    except FileNotFoundError as error:
        if not is_absent(error):
            raise
        return None
