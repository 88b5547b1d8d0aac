"""What an S3 server's refusal, or its silence, means for Fonds."""

from __future__ import annotations

import html
import re

from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores.s3.address import S3Address

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>|\(code: (\w{1,60})\)")
_MESSAGE = re.compile(r"<Message>([^<]{1,300})")
_CAUSE = re.compile(r'(?<=message: ")[^"]{1,200}|TimedOut|IncompleteMessage')
_NEVER = re.compile(r"InvalidCertificate|InvalidContentType|BadScheme|configured region")
_NO_KEYS = re.compile(r"/latest/api/token|/latest/meta-data/")

_NO_BUCKET = "NoSuchBucket"
_FULL = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "StorageFull"})
_PASSING_CODES = frozenset(
    {"RequestTimeout", "IncompleteBody", "SlowDown", "InternalError", "ServiceUnavailable"}
    | {"OperationAborted", "ConditionalRequestConflict"}
)
_PASSING_STATUSES = frozenset({408, 425, 429})
_DENIED_STATUSES = frozenset({401, 403})
_ABSENT_CODES = frozenset({None, "NoSuchKey", "NotFound"})


def is_absent(error: Exception) -> bool:
    """Whether there is no such blob; of a missing bucket or user there is more to say than that."""
    return isinstance(error, FileNotFoundError) and _code(str(error)) in _ABSENT_CODES


def code_of(error: Exception) -> str | None:
    """The error code of S3 in a server's answer; None when it gives none."""
    return _code(str(error))


def explain(error: Exception, address: S3Address) -> FondsError:
    """The error as Fonds knows it: what the server said is in it, the request is not."""
    text = str(error)
    code = _code(text)
    status = _status(text)
    told = _told(text, status, code)
    if status == 507 or code in _FULL:
        return StorageFullError(
            f"no room left at {address.shown} ({told}); make room there or raise the quota,"
            " then give the same command again."
        )
    if code == _NO_BUCKET:
        return _no_bucket(address)
    if code not in _PASSING_CODES and (status in _DENIED_STATUSES or code == "AccessDenied"):
        return ConfigurationError(
            f"{address.shown} refuses the keys it is given, or they do not allow this ({told}). Check"
            " key, secret, this machine's clock, and that s3:ListBucket, s3:GetObject,"
            " s3:PutObject and s3:DeleteObject are allowed."
        )
    if _lasting(text, status, code):
        return ConfigurationError(
            f"{address.shown} cannot be used: {told}. Check scheme, region and certificate of the"
            " URL, and that no object has the name of a folder."
        )
    return StoreUnavailableError(f"{address.shown} does not answer: {told}.")


def without_request(error: Exception) -> Exception:
    """The same error without what a server repeats of a request: a session token may be in it."""
    text = str(error)
    return type(error)(_told(text, _status(text), _code(text)))


def _lasting(text: str, status: int | None, code: str | None) -> bool:
    """Whether the same request will be refused again."""
    if status is None:
        return code is None and bool(_NEVER.search(text))
    return status < 500 and status not in _PASSING_STATUSES and code not in _PASSING_CODES


def _no_bucket(address: S3Address) -> ConfigurationError:
    where = f" --endpoint-url {address.endpoint}" if address.endpoint else ""
    return ConfigurationError(
        f"there is no bucket for {address.shown}. Make it, for example by"
        f" `aws s3api create-bucket --bucket {address.bucket}{where}`, then try again."
    )


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1]) if found else None


def _code(text: str) -> str | None:
    found = _CODE.search(text)
    return (found[1] or found[2]) if found else None


def _told(text: str, status: int | None, code: str | None) -> str:
    """One line: the server's own words, else why none came."""
    if _NO_KEYS.search(text):
        return "no keys: neither AWS_ACCESS_KEY_ID nor this machine's metadata service gives any"
    message = _MESSAGE.search(text)
    said = [str(status or ""), code or "", html.unescape(message[1]) if message else ""]
    if not any(said):
        cause = _CAUSE.search(text) or _NEVER.search(text)
        said = [text.partition("\n")[0][:300], f"({cause[0]})" if cause else ""]
    return " ".join(filter(None, said)).rstrip(".")
