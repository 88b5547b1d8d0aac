"""Other people's objects in S3 buckets, read whole or by ranges by their `s3://BUCKET/KEY`.

Server and keys come from one URL of the settings, never from a place's:

    s3:[?region=REGION]                                       AWS; the keys are those of its environment
    s3://KEY:SECRET@HOST[:PORT][?scheme=http|https&region=REGION]   any other server

A bucket in it, and a prefix, as the blobs' URL has them, restrict what is read to what lies there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from fonds.model.disposition import Reason
from fonds.model.errors import (
    ConfigurationError,
    DamagedInputError,
    LimitError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.stores.s3.address import S3Address, open_store, parse_address
from fonds.stores.s3.answers import code_of, explain, without_request
from fonds.stores.s3.versions import list_versions

ValueT = TypeVar("ValueT")

LISTED_MAX = 100_000
CLIENTS_MAX = 16
"""Of so many buckets the client is kept."""

_OBJECT = re.compile(r"s3://([A-Za-z0-9][A-Za-z0-9._-]{1,254})/([^/].*)", re.DOTALL | re.IGNORECASE)
_ANY = "any-bucket"
_ABSENT = frozenset({None, "NoSuchKey", "NoSuchBucket", "NotFound"})


class S3Objects:
    """Implements what the archive asks of files behind URLs of one scheme. Safe for several threads."""

    def __init__(self, url: str) -> None:
        """`url` as the module says; nothing is asked of the server before the first object.

        Raises ConfigurationError when it cannot be understood.
        """
        self._server, self._any_bucket = _server(url)
        self._client: Callable[[str], S3Store] = lru_cache(CLIENTS_MAX)(self._open)

    def __repr__(self) -> str:
        return f"S3Objects({self._server.endpoint or 'AWS'!r})"

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """The bytes from `start` on, at most `size_bytes` (at least 1), and the object's length.

        Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), DamagedInputError (DAMAGED_RECORD)
        when the object ends before `start`, and TransientError.
        """

        def act(store: S3Store, key: str) -> tuple[bytes, int]:
            found = obstore.get(store, key, options={"range": (start, start + size_bytes)})
            return found.bytes().to_bytes(), found.meta["size"]

        return self._answered(url, act)

    def whole(self, url: str, bytes_max: int) -> bytes:
        """The object. Raises LimitError (TOO_LARGE) for more than `bytes_max`, else as `fetch`."""
        return self.dated(url, bytes_max)[0]

    def dated(self, url: str, bytes_max: int, version: str | None = None) -> tuple[bytes, datetime]:
        """The object, or this version of it, and when it was written, aware. Raises as `whole`."""

        def act(store: S3Store, key: str) -> tuple[bytes, datetime]:
            found = obstore.get(store, key, options={"version": version} if version else None)
            size_bytes = found.meta["size"]
            if size_bytes > bytes_max:
                raise LimitError(
                    Reason.TOO_LARGE,
                    f"the object has {size_bytes} bytes; at most {bytes_max} are read",
                )
            return found.bytes().to_bytes(), found.meta["last_modified"]

        return self._answered(url, act)

    def versions(self, url: str) -> list[tuple[str, datetime]]:
        """The versions of an object by their ids, with when each was written. Raises as `fetch`."""
        bucket, key = self._object(url)
        return list_versions(replace(self._server, bucket=bucket), key)

    def found(self, url: str) -> list[tuple[str, int, str]]:
        """URL, size in bytes and time of the objects whose URLs begin with `url`, in order of name.

        At most 100,000. Raises as `fetch`, and LimitError (TOO_LARGE) for more.
        """
        bucket, _, wanted = url.removeprefix("s3://").partition("/")
        folder = wanted.rpartition("/")[0]

        def act(store: S3Store, key: str) -> list[tuple[str, int, str]]:
            listed: list[tuple[str, int, str]] = []
            for some in obstore.list(store, folder or None):
                for one in some:
                    if one["path"].startswith(wanted):
                        told = one["last_modified"].isoformat()
                        listed.append((f"s3://{bucket}/{one['path']}", one["size"], told))
                if len(listed) > LISTED_MAX:
                    raise LimitError(Reason.TOO_LARGE, f"more than {LISTED_MAX} objects begin so")
            return sorted(listed)

        # What is asked is judged by an object that would lie there.
        return self._answered(f"{url}any" if url.endswith("/") or not wanted else url, act)

    def _answered(self, url: str, act: Callable[[S3Store, str], ValueT]) -> ValueT:
        bucket, key = self._object(url)
        try:
            return act(self._client(bucket), key)
        except (BaseError, FileNotFoundError) as error:
            # The request itself may hold a session token, so it is in no message and no chain.
            raise _fault(error, replace(self._server, bucket=bucket)) from without_request(error)
        except (ValueError, ConfigurationError) as error:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"the object cannot be asked for: {error}"
            ) from error

    def _object(self, url: str) -> tuple[str, str]:
        """Bucket and key. Raises PermanentError, also for what lies outside of what may be read."""
        match = _OBJECT.fullmatch(url)
        if match is None or url.endswith("/"):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "not s3://BUCKET/KEY; server and secrets belong into the setting s3_url",
            )
        allowed = self._server
        below = match[2].startswith(f"{allowed.prefix}/") or not allowed.prefix
        if not self._any_bucket and (match[1] != allowed.bucket or not below):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"s3_url allows to read only what is in {allowed.shown}"
            )
        return match[1], match[2]

    def _open(self, bucket: str) -> S3Store:
        return open_store(replace(self._server, bucket=bucket))


def _server(url: str) -> tuple[S3Address, bool]:
    """The server, with the bucket and prefix that may be read; and whether every bucket may be."""
    try:
        parts = urlsplit(url)
        if not parts.netloc:
            return parse_address(parts._replace(netloc=_ANY).geturl()), True
        if parts.path.strip("/"):
            return parse_address(url), False
        with_bucket = parse_address(parts._replace(path=f"/{_ANY}").geturl())
        return replace(with_bucket, prefix=""), with_bucket.endpoint is not None
    except (ValueError, ConfigurationError):
        raise ConfigurationError(
            "the setting s3_url cannot be understood. Leave it empty for AWS, or write"
            " s3://KEY:SECRET@HOST:PORT?scheme=http&region=REGION with key and secret"
            " percent-encoded (`/` is %2F, `+` is %2B, `@` is %40)."
        ) from None


def _fault(error: Exception, address: S3Address) -> PermanentError | TransientError:
    """What an answer means for one object; that of a wrong key is told like that of a forbidden one."""
    told = str(without_request(error))
    code = code_of(error)
    if isinstance(explain(error, address), StoreUnavailableError):
        return TransientError(f"{address.shown} does not answer: {told}")
    if code == "InvalidRange" or told.startswith("416"):
        return DamagedInputError(
            Reason.DAMAGED_RECORD, f"the object ends before this offset ({told})"
        )
    if isinstance(error, FileNotFoundError) and code in _ABSENT:
        return PermanentError(Reason.MISSING_SOURCE, f"{address.shown} has no such object ({told})")
    return PermanentError(
        Reason.UNREADABLE_SOURCE,
        f"{address.shown} refuses to give it ({told}); check s3_url, its key and secret, and that"
        " s3:GetObject is allowed",
    )
