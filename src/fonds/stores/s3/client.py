"""S3 bucket addresses from URLs, obstore's client for them, and the meaning of its errors.

    s3://BUCKET[/PREFIX][?region=REGION]                    AWS, with the keys of its environment
    s3://[KEY:SECRET@]HOST[:PORT]/BUCKET[/PREFIX][?scheme=http|https&region=REGION]   any other
    server

A URL with keys, a port or a `scheme` has the second form. Defaults are https and us-east-1. Key and
secret are percent-encoded: `/`, `+` and `@` in a secret are written `%2F`, `%2B` and `%40`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import S3Store

from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores.blobs import check_key
from fonds.text.entities import decode_entities

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Credential, S3CredentialProvider


DEFAULT_REGION = "us-east-1"
CONNECT_TIMEOUT_S = 5.0
SILENCE_MAX_S = 10.0
"""Maximum seconds without data from the server while a request is sent or a response is
received.
"""

TRANSFER_TIMEOUT_S = 300.0
"""Time limit of one request to S3, in seconds."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_PLAIN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class S3Address:
    """An S3 bucket, or the part of a bucket below a prefix.

    `prefix`: start of all object names, without the last slash; "" for the whole bucket.
    `endpoint`: scheme, host and port of the server; None to take it from the environment, by
        default AWS.
    `region`: S3 region; None to take it from the environment.
    `key`, `secret`: access key and its secret; None to take both from the environment.
    """

    bucket: str
    prefix: str
    endpoint: str | None = None
    region: str | None = None
    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)

    @property
    def display_url(self) -> str:
        """The URL of the bucket without access keys."""
        host = [] if self.endpoint is None else [self.endpoint.partition("://")[2]]
        return "s3://" + "/".join([*host, self.bucket, *filter(None, [self.prefix])])


def parse_address(url: str) -> S3Address:
    """Parse the URL of an S3 bucket.

    Raises ConfigurationError if the URL is invalid. The message shows a valid URL, and no part of
    the given one, which may contain a secret.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        settings = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise _build_malformed_error() from None
    path = parts.path.removeprefix("/")
    region = settings.pop("region", None)
    if "@" in parts.netloc or port is not None or "scheme" in settings:
        key, secret = _parse_keys(parts)
        endpoint = _build_endpoint(
            settings.pop("scheme", "https"), parts.netloc.rpartition("@")[2], port
        )
        bucket, _, prefix = path.partition("/")
        address = S3Address(bucket, prefix, endpoint, region or DEFAULT_REGION, key, secret)
    else:
        address = S3Address(parts.netloc, path, region=region)
    _check(address, is_whole_bucket=not (parts.fragment or settings or parts.scheme != "s3"))
    return address


def open_store(address: S3Address) -> S3Store:
    """Return an obstore client for an S3 bucket. The client does not retry; the caller decides how
    long to retry.

    Raises ConfigurationError if the environment contains settings that obstore does not accept.
    """
    config: S3Config = {}
    if address.endpoint is not None:
        # Set explicitly, because AWS variables in the environment would otherwise override it.
        config["aws_endpoint_url_s3"] = address.endpoint
        config["virtual_hosted_style_request"] = False
    if address.region is not None:
        config["region"] = address.region
    if address.key is not None:
        config["skip_signature"] = False
    try:
        return S3Store(
            address.bucket,
            config=config,
            client_options={
                "allow_http": (address.endpoint or "").startswith("http:"),
                "connect_timeout": timedelta(seconds=CONNECT_TIMEOUT_S),
                "read_timeout": timedelta(seconds=SILENCE_MAX_S),
                "timeout": timedelta(seconds=TRANSFER_TIMEOUT_S),
            },
            retry_config={"max_retries": 0},
            credential_provider=_build_credentials(address),
        )
    except (BaseError, ValueError) as error:
        raise ConfigurationError(
            f"Cannot use {address.display_url}: {type(error).__name__}. Check the "
            "environment variables AWS_…."
        ) from None


def _build_credentials(address: S3Address) -> S3CredentialProvider | None:
    """Return obstore's provider of the access keys in the address, or None if it has no keys. A
    session token in the environment is not used with these keys.
    """
    if address.key is None or address.secret is None:
        return None
    credential: S3Credential = {
        "access_key_id": address.key,
        "secret_access_key": address.secret,
        "token": None,
        "expires_at": None,
    }
    return lambda: credential


def _parse_keys(parts: SplitResult) -> tuple[str | None, str | None]:
    if "@" not in parts.netloc:
        return None, None
    key, secret = unquote(parts.username or ""), unquote(parts.password or "")
    if not (_PLAIN.fullmatch(key) and _PLAIN.fullmatch(secret)):
        raise _build_malformed_error()
    return key, secret


def _build_endpoint(scheme: str, host: str, port: int | None) -> str:
    if scheme not in ("http", "https") or not _HOST.fullmatch(host.removesuffix(f":{port}")):
        raise _build_malformed_error()
    return f"{scheme}://{host}"


def _check(address: S3Address, *, is_whole_bucket: bool) -> None:
    """Check the bucket, region and prefix of an S3 address.

    Raises ConfigurationError if one of them is invalid, or if `is_whole_bucket` is False because
    the URL has parts that an S3 address does not have.
    """
    is_region_plain = _PLAIN.fullmatch(address.region or DEFAULT_REGION)
    if (
        not (is_whole_bucket and is_region_plain and _BUCKET.fullmatch(address.bucket))
        or "@" in address.prefix
    ):
        raise _build_malformed_error()
    if address.prefix:
        check_key(address.prefix)


def _build_malformed_error() -> ConfigurationError:
    return ConfigurationError(
        "Invalid S3 URL of the blobs or the archive. Write s3://BUCKET/PREFIX for AWS, "
        "or s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX?scheme=http&region=REGION with key "
        "and secret percent-encoded (`/` is %2F, `+` is %2B, `@` is %40)."
    )


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
    """Return whether an error of the S3 client says that an object does not exist. A missing bucket
    or user does not count.
    """
    return isinstance(error, FileNotFoundError) and _parse_code(str(error)) in _ABSENT_CODES


def find_error_code(error: Exception) -> str | None:
    """Return the S3 error code in an error of the client, such as `NoSuchKey`; None if it contains
    no code.
    """
    return _parse_code(str(error))


def explain(error: Exception, address: S3Address) -> FondsError:
    """Translate an error of the S3 client to an error of Fonds. The message contains the server's
    message, but not the request.
    """
    text = str(error)
    code = _parse_code(text)
    status = _parse_status(text)
    reply = _format_error(text, status, code)
    if status == 507 or code in _FULL:
        return StorageFullError(
            f"No space left at {address.display_url} ({reply}). Free some space or raise "
            "the quota, and run the command again."
        )
    if code == _NO_BUCKET:
        return _build_no_bucket_error(address)
    if code not in _PASSING_CODES and (status in _DENIED_STATUSES or code == "AccessDenied"):
        return ConfigurationError(
            f"{address.display_url} refuses the keys, or they do not allow this "
            f"({reply}). Check key, secret and the clock of this machine, and that "
            "s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject are allowed."
        )
    if _is_lasting(text, status, code):
        return ConfigurationError(
            f"Cannot use {address.display_url}: {reply}. Check scheme, region and "
            "certificate of the URL, and that no object has the name of a folder."
        )
    return StoreUnavailableError(f"{address.display_url} does not answer: {reply}.")


def strip_request(error: Exception) -> Exception:
    """Copy an error of the S3 client without the request that the server's response repeats: the
    request may contain a session token.
    """
    text = str(error)
    return type(error)(_format_error(text, _parse_status(text), _parse_code(text)))


def _is_lasting(text: str, status: int | None, code: str | None) -> bool:
    """Return whether an S3 error means that the server would reject the same request again, so that
    a retry cannot help.
    """
    if status is None:
        return code is None and bool(_NEVER.search(text))
    return status < 500 and status not in _PASSING_STATUSES and code not in _PASSING_CODES


def _build_no_bucket_error(address: S3Address) -> ConfigurationError:
    endpoint_option = f" --endpoint-url {address.endpoint}" if address.endpoint else ""
    return ConfigurationError(
        f"No bucket for {address.display_url}. Create it, for example with `aws s3api "
        f"create-bucket --bucket {address.bucket}{endpoint_option}`, and try again."
    )


def _parse_status(text: str) -> int | None:
    match = _STATUS.search(text)
    return int(match[1]) if match else None


def _parse_code(text: str) -> str | None:
    match = _CODE.search(text)
    return (match[1] or match[2]) if match else None


def _format_error(text: str, status: int | None, code: str | None) -> str:
    """Format an S3 error as one line: the status, code and message of the server, or why no
    response was received.
    """
    if _NO_KEYS.search(text):
        return "no keys in AWS_ACCESS_KEY_ID or the machine's metadata service"
    message = _MESSAGE.search(text)
    parts = [str(status or ""), code or "", decode_entities(message[1]) if message else ""]
    if not any(parts):
        cause = _CAUSE.search(text) or _NEVER.search(text)
        parts = [text.partition("\n")[0][:300], f"({cause[0]})" if cause else ""]
    return " ".join(filter(None, parts)).rstrip(".")
