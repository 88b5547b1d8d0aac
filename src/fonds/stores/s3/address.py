"""Where an S3 bucket is, out of a URL, and obstore's client for it.

    s3://BUCKET[/PREFIX][?region=REGION]                    AWS; the keys are those of its environment
    s3://[KEY:SECRET@]HOST[:PORT]/BUCKET[/PREFIX][?scheme=http|https&region=REGION]   any other server

A URL is of the second form when it has keys, a port or a `scheme`; https is the default, and us-east-1.
Key and secret are percent-encoded: `/`, `+` and `@` in a secret are written `%2F`, `%2B` and `%40`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import S3Store

from fonds.model.errors import ConfigurationError
from fonds.stores.keys import check_key

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Credential, S3CredentialProvider

DEFAULT_REGION = "us-east-1"
CONNECT_TIMEOUT_S = 5.0
SILENCE_MAX_S = 10.0
"""Within this time a request's body is sent and its answer begins; longer pauses end it."""

TRANSFER_TIMEOUT_S = 300.0
"""One whole request."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_PLAIN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class S3Address:
    """One bucket, or what lies in it below a prefix.

    `endpoint` and `region` None: obstore takes them from the environment, AWS being the default.
    `key` and `secret` None: so are they.
    """

    bucket: str
    prefix: str
    endpoint: str | None = None
    region: str | None = None
    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The URL as people are told it, without keys."""
        host = [] if self.endpoint is None else [self.endpoint.partition("://")[2]]
        return "s3://" + "/".join([*host, self.bucket, *filter(None, [self.prefix])])


def parse_address(url: str) -> S3Address:
    """Raises ConfigurationError saying the right form, and nothing that might be part of a secret."""
    try:
        parts = urlsplit(url)
        port = parts.port
        settings = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise _malformed() from None
    path = parts.path.removeprefix("/")
    region = settings.pop("region", None)
    if "@" in parts.netloc or port is not None or "scheme" in settings:
        key, secret = _keys(parts)
        endpoint = _endpoint(settings.pop("scheme", "https"), parts.netloc.rpartition("@")[2], port)
        bucket, _, prefix = path.partition("/")
        found = S3Address(bucket, prefix, endpoint, region or DEFAULT_REGION, key, secret)
    else:
        found = S3Address(parts.netloc, path, region=region)
    _check(found, whole=not (parts.fragment or settings or parts.scheme != "s3"))
    return found


def open_store(address: S3Address) -> S3Store:
    """The client. It does not retry: the time that retries take is bounded by who calls it.

    Raises ConfigurationError when the environment holds settings obstore does not understand.
    """
    config: S3Config = {}
    if address.endpoint is not None:
        # Said explicitly, what the environment holds for AWS does not change where this leads.
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
            credential_provider=_given_keys(address),
        )
    except (BaseError, ValueError) as error:
        raise ConfigurationError(
            f"{address.shown} cannot be used: {type(error).__name__}. Check the variables AWS_… of"
            " the environment."
        ) from None


def _given_keys(address: S3Address) -> S3CredentialProvider | None:
    """Hands out the keys of the URL, so that no session token of the environment is mixed in."""
    if address.key is None or address.secret is None:
        return None
    given: S3Credential = {
        "access_key_id": address.key,
        "secret_access_key": address.secret,
        "token": None,
        "expires_at": None,
    }
    return lambda: given


def _keys(parts: SplitResult) -> tuple[str | None, str | None]:
    if "@" not in parts.netloc:
        return None, None
    key, secret = unquote(parts.username or ""), unquote(parts.password or "")
    if not (_PLAIN.fullmatch(key) and _PLAIN.fullmatch(secret)):
        raise _malformed()
    return key, secret


def _endpoint(scheme: str, host: str, port: int | None) -> str:
    if scheme not in ("http", "https") or not _HOST.fullmatch(host.removesuffix(f":{port}")):
        raise _malformed()
    return f"{scheme}://{host}"


def _check(address: S3Address, *, whole: bool) -> None:
    """`whole`: nothing of the URL is left over."""
    plain = _PLAIN.fullmatch(address.region or DEFAULT_REGION)
    if not (whole and plain and _BUCKET.fullmatch(address.bucket)) or "@" in address.prefix:
        raise _malformed()
    if address.prefix:
        check_key(address.prefix)


def _malformed() -> ConfigurationError:
    return ConfigurationError(
        "the URL of the blobs or the archive cannot be understood. Write s3://BUCKET/PREFIX for AWS, or"
        " s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX?scheme=http&region=REGION with key and secret"
        " percent-encoded (`/` is %2F, `+` is %2B, `@` is %40)."
    )
