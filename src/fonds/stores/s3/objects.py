"""Other people's objects in S3 buckets, read whole or by range from `s3://BUCKET/KEY`.

Server and keys come from the setting `s3_url`, never from a location:

    s3:[?region=REGION]                                       AWS, with the keys of its environment
    s3://KEY:SECRET@HOST[:PORT][?scheme=http|https&region=REGION]   any other server

If `s3_url` also has a bucket and prefix, in the form of the blobs' URL, only objects below them are
read.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from fonds.fetching.addresses import allow_any_address
from fonds.fetching.service_client import ServiceClient, check_status, follow_none
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ConfigurationError,
    DamagedInputError,
    LimitError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.stores.s3.client import (
    CONNECT_TIMEOUT_S,
    DEFAULT_REGION,
    SILENCE_MAX_S,
    TRANSFER_TIMEOUT_S,
    S3Address,
    explain,
    find_error_code,
    open_store,
    parse_address,
    strip_request,
)
from fonds.text.xml import get_local_name, get_text, parse_strictly

# obstore cannot list the versions of an object, so these requests go through `ServiceClient`.
#
# Source: Amazon S3 API, ListObjectVersions; AWS Signature Version 4, "Authenticating requests".
# Limits: one response of at most 1,000 versions and 4 MiB.


ANSWER_MAX_BYTES = 4 * 2**20
VERSIONS_MAX = 1_000
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def list_versions(address: S3Address, key: str) -> list[tuple[str, datetime]]:
    """List the versions of an S3 object as pairs of version id and time of writing (aware UTC).
    Deletion markers are left out.

    Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) if the bucket is missing, denies
    access or sends an unknown format, LimitError (TOO_LARGE) if there are more than 1,000 versions,
    and TransientError if the server does not answer.
    """
    query = {"max-keys": str(VERSIONS_MAX), "prefix": key, "versions": ""}
    body = _request_bucket(address, query)
    try:
        root = parse_strictly(body)
        versions = [
            dict(_iter_fields(element)) for element in root if get_local_name(element) == "version"
        ]
        is_truncated = any(
            get_local_name(element) == "istruncated" and get_text(element) == "true"
            for element in root
        )
        matching = [element for element in versions if element.get("key") == key]
        # Keys are sorted: if other keys follow those of this object, the list of its versions is
        # complete.
        if is_truncated and len(matching) == len(versions):
            raise LimitError(Reason.TOO_LARGE, f"more than {VERSIONS_MAX} versions of {key}")
        return [
            (element["versionid"], _parse_time(element["lastmodified"])) for element in matching
        ]
    except (DamagedInputError, KeyError, ValueError) as error:
        message = f"{address.display_url} lists versions in an unknown format: {error}"
        raise PermanentError(Reason.UNREADABLE_SOURCE, message) from error


def _iter_fields(element: object) -> Iterator[tuple[str, str]]:
    for child in element:  # type: ignore[attr-defined]
        yield get_local_name(child), get_text(child).strip()


def _parse_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _request_bucket(address: S3Address, query: Mapping[str, str]) -> bytes:
    """Send a GET request with this query to an S3 bucket and return the body of the response."""
    origin, path = _build_bucket_url(address)
    query_string = "&".join(
        f"{name}={quote(value, safe='')}" for name, value in sorted(query.items())
    )
    host = urlsplit(origin).netloc
    headers = _sign_headers(address, host, path, query_string, datetime.now(UTC))
    client = ServiceClient(
        is_allowed=allow_any_address, connect_s=CONNECT_TIMEOUT_S, read_s=SILENCE_MAX_S
    )
    with client.open(
        f"{origin}{path}?{query_string}",
        headers,
        total_s=TRANSFER_TIMEOUT_S,
        follows=follow_none,
    ) as response:
        if response.status in (401, 403):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                f"{address.display_url} does not list versions ({response.status}); s3_url needs "
                "keys that allow s3:ListBucketVersions",
            )
        check_status(response.status, 200)
        return response.read_all(ANSWER_MAX_BYTES)


def _build_bucket_url(address: S3Address) -> tuple[str, str]:
    """Return the origin and path of an S3 bucket's URL. On AWS the bucket is part of the host."""
    if address.endpoint is not None:
        return address.endpoint, f"/{address.bucket}"
    region = address.region or DEFAULT_REGION
    return f"https://{address.bucket}.s3.{region}.amazonaws.com", "/"


def _sign_headers(
    address: S3Address, host: str, path: str, query: str, moment: datetime
) -> dict[str, str]:
    """Return the headers that sign a GET request with AWS Signature Version 4. `Host` is signed but
    not returned.

    Return no headers if the address has no access keys, as for public buckets.
    """
    if address.key is None or address.secret is None:
        return {}
    date, stamp = f"{moment:%Y%m%d}", f"{moment:%Y%m%dT%H%M%SZ}"
    headers = {"host": host, "x-amz-content-sha256": _EMPTY_SHA256, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = [f"{name}:{value}\n" for name, value in headers.items()]
    canonical_request = "\n".join(["GET", quote(path), query, "".join(lines), names, _EMPTY_SHA256])
    scope = f"{date}/{address.region or DEFAULT_REGION}/s3/aws4_request"
    request_hash = hashlib.sha256(canonical_request.encode()).hexdigest()
    key = f"AWS4{address.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text_to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, request_hash])
    signature = hmac.digest(key, text_to_sign.encode(), "sha256").hex()
    del headers["host"]  # ServiceClient sends it
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={address.key}/{scope},SignedHeaders={names},"
        f"Signature={signature}"
    )
    return headers


ValueT = TypeVar("ValueT")

LISTED_MAX = 100_000
CLIENTS_MAX = 16
"""Maximum number of cached S3 clients, one per bucket."""

_OBJECT = re.compile(r"s3://([A-Za-z0-9][A-Za-z0-9._-]{1,254})/([^/].*)", re.DOTALL | re.IGNORECASE)
_ANY = "any-bucket"
_ABSENT = frozenset({None, "NoSuchKey", "NoSuchBucket", "NotFound"})


class S3Objects:
    """Reads objects at `s3://BUCKET/KEY` URLs; implements the archive's RemoteReader.
    Thread-safe.
    """

    def __init__(self, url: str) -> None:
        """Configure server and keys from the setting `s3_url`: `s3:` for AWS, or
        `s3://KEY:SECRET@HOST`. No request is sent.

        Raises ConfigurationError if the URL is invalid.
        """
        self._server, self._any_bucket = _parse_server(url)
        self._client: Callable[[str], S3Store] = lru_cache(CLIENTS_MAX)(self._open_store)

    def __repr__(self) -> str:
        return f"S3Objects({self._server.endpoint or 'AWS'!r})"

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return up to `size_bytes` (at least 1) of an object from the offset `start`, and the size
        of the whole object, in bytes.

        Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) if the object does not exist or
        access is denied, DamagedInputError (DAMAGED_RECORD) if it ends before `start`, and
        TransientError if the server does not answer.
        """

        def act(store: S3Store, key: str) -> tuple[bytes, int]:
            response = obstore.get(store, key, options={"range": (start, start + size_bytes)})
            return response.bytes().to_bytes(), response.meta["size"]

        return self._call(url, act)

    def read_all(self, url: str, max_bytes: int) -> bytes:
        """Return the bytes of a whole S3 object. Raises LimitError (TOO_LARGE) if it has more than
        `max_bytes`, and the errors of `fetch`.
        """
        return self.read_dated(url, max_bytes)[0]

    def read_dated(
        self, url: str, max_bytes: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        """Return the bytes of an S3 object and its time of writing (aware). `version` selects a
        version id; None is the current version.

        Raises LimitError (TOO_LARGE) if the object has more than `max_bytes`, and the errors of
        `fetch`.
        """

        def act(store: S3Store, key: str) -> tuple[bytes, datetime]:
            response = obstore.get(store, key, options={"version": version} if version else None)
            size_bytes = response.meta["size"]
            if size_bytes > max_bytes:
                raise LimitError(
                    Reason.TOO_LARGE,
                    f"the object has {size_bytes} bytes; the limit is {max_bytes}",
                )
            return response.bytes().to_bytes(), response.meta["last_modified"]

        return self._call(url, act)

    def list_versions(self, url: str) -> list[tuple[str, datetime]]:
        """List the versions of an S3 object as pairs of version id and time of writing (aware UTC).
        Raises LimitError (TOO_LARGE) for more than 1,000 versions, and the errors of `fetch`.
        """
        bucket, key = self._split_url(url)
        return list_versions(replace(self._server, bucket=bucket), key)

    def list_objects(self, url: str) -> list[tuple[str, int, str]]:
        """List URL, size in bytes and ISO 8601 modification time of all S3 objects whose URLs begin
        with `url`, sorted by URL.

        Raises LimitError (TOO_LARGE) for more than 100,000 objects, and the errors of `fetch`.
        """
        bucket, _, key_prefix = url.removeprefix("s3://").partition("/")
        folder = key_prefix.rpartition("/")[0]

        def act(store: S3Store, key: str) -> list[tuple[str, int, str]]:
            listed_objects: list[tuple[str, int, str]] = []
            for page in obstore.list(store, folder or None):
                for item in page:
                    if item["path"].startswith(key_prefix):
                        modified_at = item["last_modified"].isoformat()
                        listed_objects.append(
                            (f"s3://{bucket}/{item['path']}", item["size"], modified_at)
                        )
                if len(listed_objects) > LISTED_MAX:
                    raise LimitError(
                        Reason.TOO_LARGE, f"more than {LISTED_MAX} objects have this prefix"
                    )
            return sorted(listed_objects)

        # Permission is checked for an object that would match the prefix.
        return self._call(f"{url}any" if url.endswith("/") or not key_prefix else url, act)

    def _call(self, url: str, act: Callable[[S3Store, str], ValueT]) -> ValueT:
        bucket, key = self._split_url(url)
        try:
            return act(self._client(bucket), key)
        except (BaseError, FileNotFoundError) as error:
            # The request may contain a session token, so it must not be in any message or exception
            # chain.
            raise _translate_error(error, replace(self._server, bucket=bucket)) from strip_request(
                error
            )
        except (ValueError, ConfigurationError) as error:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"the object cannot be requested: {error}"
            ) from error

    def _split_url(self, url: str) -> tuple[str, str]:
        """Return bucket and key of an `s3://` URL. Raises PermanentError if the URL is invalid or
        outside the bucket and prefix of `s3_url`.
        """
        match = _OBJECT.fullmatch(url)
        if match is None or url.endswith("/"):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "not s3://BUCKET/KEY; server and secrets belong in the setting s3_url",
            )
        server = self._server
        is_below_prefix = match[2].startswith(f"{server.prefix}/") or not server.prefix
        if not self._any_bucket and (match[1] != server.bucket or not is_below_prefix):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                f"s3_url only allows reading in {server.display_url}",
            )
        return match[1], match[2]

    def _open_store(self, bucket: str) -> S3Store:
        return open_store(replace(self._server, bucket=bucket))


def _parse_server(url: str) -> tuple[S3Address, bool]:
    """Parse the setting `s3_url`, which names an S3 server and its access keys.

    Returns the address, whose bucket and prefix limit what may be read, and whether all buckets may
    be read.
    """
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
            "Invalid setting s3_url. Leave it empty for AWS, or write "
            "s3://KEY:SECRET@HOST:PORT?scheme=http&region=REGION with key and secret "
            "percent-encoded (`/` is %2F, `+` is %2B, `@` is %40)."
        ) from None


def _translate_error(error: Exception, address: S3Address) -> PermanentError | TransientError:
    """Translate an error about one S3 object. A wrong access key and a forbidden object give the
    same error.
    """
    detail = str(strip_request(error))
    code = find_error_code(error)
    if isinstance(explain(error, address), StoreUnavailableError):
        return TransientError(f"{address.display_url} does not answer: {detail}")
    if code == "InvalidRange" or detail.startswith("416"):
        return DamagedInputError(
            Reason.DAMAGED_RECORD, f"the object ends before this offset ({detail})"
        )
    if isinstance(error, FileNotFoundError) and code in _ABSENT:
        return PermanentError(
            Reason.MISSING_SOURCE, f"{address.display_url} has no such object ({detail})"
        )
    return PermanentError(
        Reason.UNREADABLE_SOURCE,
        (
            f"{address.display_url} refuses access ({detail}); check s3_url, its key and "
            "secret, and that s3:GetObject is allowed"
        ),
    )
