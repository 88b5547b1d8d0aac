"""The versions of one object, which obstore does not list: a request of our own, signed as S3 asks for.

Source: Amazon S3 API, ListObjectVersions; AWS Signature Version 4, "Authenticating requests".
Bound: one answer of at most 1,000 versions and 4 MiB.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import certifi
import urllib3
from urllib3.exceptions import HTTPError

from fonds.formats.listings.markup import local_name, parse_strictly, text_of
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError, TransientError
from fonds.stores.s3.address import (
    CONNECT_TIMEOUT_S,
    DEFAULT_REGION,
    SILENCE_MAX_S,
    TRANSFER_TIMEOUT_S,
    S3Address,
)

ANSWER_MAX_BYTES = 4 * 2**20
PIECE_BYTES = 64 * 1024
VERSIONS_MAX = 1_000
_NOTHING = hashlib.sha256(b"").hexdigest()
_PASSING = frozenset({408, 425, 429})


def list_versions(address: S3Address, key: str) -> list[tuple[str, datetime]]:
    """Ids of an object's versions, and when each was written, aware UTC; what marks a deletion is none.

    Raises PermanentError (UNREADABLE_SOURCE), LimitError (TOO_LARGE) and TransientError.
    """
    query = {"max-keys": str(VERSIONS_MAX), "prefix": key, "versions": ""}
    body = _answer(address, query)
    try:
        root = parse_strictly(body)
        found = [dict(_fields(one)) for one in root if local_name(one) == "version"]
        cut = any(local_name(one) == "istruncated" and text_of(one) == "true" for one in root)
        ours = [one for one in found if one.get("key") == key]
        # Keys come in their order: behind those of this object others follow, or the answer was cut.
        if cut and len(ours) == len(found):
            raise LimitError(Reason.TOO_LARGE, f"more than {VERSIONS_MAX} versions of {key}")
        return [(one["versionid"], _moment(one["lastmodified"])) for one in ours]
    except (DamagedInputError, KeyError, ValueError) as error:
        told = f"{address.shown} lists versions in no form that is known: {error}"
        raise PermanentError(Reason.UNREADABLE_SOURCE, told) from error


def _fields(element: object) -> Iterator[tuple[str, str]]:
    for one in element:  # type: ignore[attr-defined]
        yield local_name(one), text_of(one).strip()


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _answer(address: S3Address, query: Mapping[str, str]) -> bytes:
    """The body of the answer to a GET of the bucket."""
    origin, path = _bucket(address)
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(query.items()))
    host = urlsplit(origin).netloc
    headers = _signed(address, host, path, asked, datetime.now(UTC))
    pool = urllib3.PoolManager(
        timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=SILENCE_MAX_S),
        ca_certs=certifi.where(),
        retries=False,
    )
    try:
        with pool.request(
            "GET",
            f"{origin}{path}?{asked}",
            headers=headers,
            redirect=False,
            preload_content=False,
        ) as answer:
            _check(answer.status, address)
            body = _read(answer)
    except (HTTPError, OSError) as error:
        # What a client says of its request may hold a signature.
        raise TransientError(f"{address.shown} does not answer: {type(error).__name__}") from None
    finally:
        pool.clear()
    if len(body) > ANSWER_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"{address.shown} lists more than 4 MiB of versions")
    return body


def _read(answer: urllib3.BaseHTTPResponse) -> bytes:
    """The body, a byte more than is allowed at most. Raises TimeoutError for one that trickles."""
    body, deadline = bytearray(), time.monotonic() + TRANSFER_TIMEOUT_S
    while len(body) <= ANSWER_MAX_BYTES:
        piece = answer.read1(PIECE_BYTES, decode_content=True)
        if not piece:
            break
        body += piece
        if time.monotonic() > deadline:
            raise TimeoutError("the server sends too slowly")
    return bytes(body)


def _check(status: int, address: S3Address) -> None:
    if status == 200:
        return
    if status >= 500 or status in _PASSING:
        raise TransientError(f"{address.shown} does not answer: {status}")
    raise PermanentError(
        Reason.UNREADABLE_SOURCE,
        f"{address.shown} does not list versions ({status}); s3_url needs keys that allow"
        " s3:ListBucketVersions",
    )


def _bucket(address: S3Address) -> tuple[str, str]:
    """Origin and path of the bucket, which AWS has in the host."""
    if address.endpoint is not None:
        return address.endpoint, f"/{address.bucket}"
    region = address.region or DEFAULT_REGION
    return f"https://{address.bucket}.s3.{region}.amazonaws.com", "/"


def _signed(
    address: S3Address, host: str, path: str, query: str, moment: datetime
) -> dict[str, str]:
    """The headers of a request without a body; without keys it is not signed, as for public buckets."""
    if address.key is None or address.secret is None:
        return {}
    day, stamp = f"{moment:%Y%m%d}", f"{moment:%Y%m%dT%H%M%SZ}"
    headers = {"host": host, "x-amz-content-sha256": _NOTHING, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = [f"{name}:{value}\n" for name, value in headers.items()]
    asked = "\n".join(["GET", quote(path), query, "".join(lines), names, _NOTHING])
    scope = f"{day}/{address.region or DEFAULT_REGION}/s3/aws4_request"
    told = hashlib.sha256(asked.encode()).hexdigest()
    key = f"AWS4{address.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, told])
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={address.key}/{scope},SignedHeaders={names},"
        f"Signature={signature}"
    )
    return headers
