"""Format of a fetched exchange in the spool: a line of JSON, then the body with its content
codings.

An exchange is the requests and responses of one fetched link. The spool stores it as a blob until
it is archived.
"""

from __future__ import annotations

import msgspec

from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.exchange import Exchange

SPOOL_FOLDER = "spool"


def build_spool_key(capture_id: str) -> str:
    """Return the blob key of the spooled exchange (requests and responses) of a capture.

    The key has one folder per input, so pages that are fetched together are stored together. There
    are at most as many folders as inputs in progress.
    """
    return f"{SPOOL_FOLDER}/{capture_id.rpartition('-')[0] or 'others'}/{capture_id}"


def parse_spool_key(key: str) -> str:
    """Return the id of the capture that a blob key in the spool belongs to."""
    return key.rpartition("/")[2]


def encode_exchange(exchange: Exchange, body: bytes) -> bytes:
    """Encode an HTTP exchange and its body, which keeps its content codings, as the bytes of a
    blob.
    """
    return msgspec.json.encode(exchange) + b"\n" + body


def decode_exchange(blob: bytes) -> tuple[Exchange, bytes]:
    """Decode the bytes of a blob in the spool to the HTTP exchange and its body. Raises
    DamagedInputError if the bytes are malformed.
    """
    line, mark, body = blob.partition(b"\n")
    try:
        exchange = msgspec.json.decode(line, type=prepare_type(Exchange))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"not an HTTP exchange: {error}") from error
    if not mark or not exchange.hops:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "the HTTP exchange has no response")
    return exchange, body
