"""An exchange with its body as one blob, as it lies in the spool: a line of JSON, then the body as sent."""

from __future__ import annotations

import msgspec

from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange

SPOOL_FOLDER = "spool"


def build_spool_key(capture_id: str) -> str:
    """Where the exchange of a capture lies among the blobs: a folder for each input, so that what is fetched
    together lies together; no more are there at once than are under way."""
    return f"{SPOOL_FOLDER}/{capture_id.rpartition('-')[0] or 'others'}/{capture_id}"


def parse_spool_key(key: str) -> str:
    """The capture whose exchange lies there."""
    return key.rpartition("/")[2]


def encode_exchange(exchange: Exchange, body: bytes) -> bytes:
    """The blob; `body` has its content codings."""
    return msgspec.json.encode(exchange) + b"\n" + body


def decode_exchange(blob: bytes) -> tuple[Exchange, bytes]:
    """The exchange, and the body as it was sent. Raises DamagedInputError."""
    line, mark, body = blob.partition(b"\n")
    try:
        exchange = msgspec.json.decode(line, type=prepare_type(Exchange))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"no exchange: {error}") from error
    if not mark or not exchange.hops:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "the exchange has no answer")
    return exchange, body
