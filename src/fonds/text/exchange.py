"""Exchanges as spool blobs: a line of JSON, then the body as sent."""

from __future__ import annotations

import msgspec

from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange

SPOOL_FOLDER = "spool"


def build_spool_key(capture_id: str) -> str:
    """Return the blob key of a capture's exchange.

    Each input has its own folder, so pages fetched together are stored together. The number of folders is
    limited by the work in progress.
    """
    return f"{SPOOL_FOLDER}/{capture_id.rpartition('-')[0] or 'others'}/{capture_id}"


def parse_spool_key(key: str) -> str:
    """Return the capture id in a spool key."""
    return key.rpartition("/")[2]


def encode_exchange(exchange: Exchange, body: bytes) -> bytes:
    """Encode an exchange; `body` keeps its content codings."""
    return msgspec.json.encode(exchange) + b"\n" + body


def decode_exchange(blob: bytes) -> tuple[Exchange, bytes]:
    """Decode a blob into the exchange and the body as sent. Raises DamagedInputError."""
    line, mark, body = blob.partition(b"\n")
    try:
        exchange = msgspec.json.decode(line, type=prepare_type(Exchange))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"not an HTTP exchange: {error}") from error
    if not mark or not exchange.hops:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "the HTTP exchange has no response")
    return exchange, body
