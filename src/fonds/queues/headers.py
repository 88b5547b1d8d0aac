"""Encode values of message headers as text, and decode them.

Headers of Fonds messages are text. Other programs may send headers of other types through a broker.
A value of another type is encoded as text that begins with its type: `!int 5`, `!float 1.5`, `!bool
true`, `!none`, `!decimal 1.50`, `!time 1700000000` (Unix seconds), `!bytes /wA=` (base64), `!list
["a","!int 1"]` and `!table {"a":"!bytes AA=="}`. Items of lists and tables are encoded in the same
way. Text is not changed, with one exception: text that looks like an encoded value gets the prefix
`!text `.

Decoding accepts only the exact encoding that `format_value` writes; all other text stays text. NaN
and infinite floats stay text too, because RabbitMQ closes the connection when it receives one.
"""

from __future__ import annotations

import json
import logging
import math
from base64 import b64decode, b64encode
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

COUNT_MAX, SIZE_MAX_CHARS = 100, 32 * 1024
DEPTH_MAX, NAME_MAX_BYTES = 16, 255
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
DIGITS_MIN, DIGITS_MAX = -(2**31), 2**31 - 1
MARK = "!"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeaderTime:
    """Timestamp as a header value: Unix seconds as an unsigned 64-bit integer."""

    seconds: int


Value: TypeAlias = (
    "str | bytes | int | float | bool | Decimal | HeaderTime | list[Value] | dict[str,"
    " Value] | None"
)


def format_value(value: Value) -> str:
    """Return a header value as text, such as `!int 5`. `parse_value` restores the value.

    Text is returned unchanged, unless it looks like an encoded value. It then gets the prefix
    `!text `.
    """
    if isinstance(value, str):
        plain = not value.startswith(MARK) or parse_value(value) == value
        return value if plain else f"!text {value}"
    if value is None:
        return "!none"
    if isinstance(value, (list, dict)):
        kind = "list" if isinstance(value, list) else "table"
        return f"!{kind} {json.dumps(_convert_leaves(value), ensure_ascii=False, separators=(',', ':'))}"
    return _format_leaf(value)


def _format_leaf(value: bytes | float | Decimal | HeaderTime) -> str:
    if isinstance(value, bytes):
        return f"!bytes {b64encode(value).decode()}"
    if isinstance(value, bool):
        return f"!bool {str(value).lower()}"
    if isinstance(value, HeaderTime):
        return f"!time {value.seconds}"
    kind = {int: "int", float: "float", Decimal: "decimal"}[type(value)]
    return f"!{kind} {value}"


def _convert_leaves(value: Value) -> object:
    if isinstance(value, list):
        return [_convert_leaves(item) for item in value]
    if isinstance(value, dict):
        return {name: _convert_leaves(item) for name, item in value.items()}
    return format_value(value)


def parse_value(text: str) -> Value:
    """Return the value that the text of a message header encodes, such as the integer 5 for `!int
    5`.

    Text that is not an encoded value is returned unchanged, and so is text over `SIZE_MAX_CHARS`.
    """
    if not text.startswith(MARK) or len(text) > SIZE_MAX_CHARS:
        return text
    kind, _, value_text = text[1:].partition(" ")
    if kind == "text":
        inner = parse_value(value_text)
        return value_text if isinstance(inner, str) is False or inner != value_text else text
    try:
        value = _parse_leaf(kind, value_text)
    except (ValueError, InvalidOperation, RecursionError):
        return text
    # Accept only the canonical encoding, so that each text stands for exactly one value.
    return value if not isinstance(value, str) and format_value(value) == text else text


def _parse_leaf(kind: str, text: str) -> Value:
    """Return the header value that `text` encodes; `kind` is its type, such as `int` or `table`.

    Raises ValueError or InvalidOperation if the type is unknown or the text is invalid for the
    type.
    """
    if kind == "none":
        return None
    if kind == "bool":
        return text == "true"
    if kind == "bytes":
        return b64decode(text, validate=True)
    if kind == "float" and math.isfinite(fraction := float(text)):
        return fraction
    if kind == "decimal":
        return _parse_decimal(text)
    if kind == "int" and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    if kind == "time" and 0 <= (seconds := int(text)) < 2**64:
        return HeaderTime(seconds)
    if kind in ("list", "table"):
        container = _build_values(json.loads(text), DEPTH_MAX)
        if isinstance(container, list if kind == "list" else dict):
            return container
    raise ValueError(f"not a {kind}: {text[:40]}")


def _parse_decimal(text: str) -> Decimal:
    """Parse a decimal number. Raises ValueError if an AMQP decimal cannot represent it.

    An AMQP decimal has 8 bits for the scale and 32 bits for the digits.
    """
    sign, digits, exponent = Decimal(text[:40]).as_tuple()
    number = Decimal((sign, digits, 0))
    if not isinstance(exponent, int) or not -255 <= exponent <= 0 or not digits:
        raise ValueError("the scale of a decimal is out of range")
    if not DIGITS_MIN <= number <= DIGITS_MAX:
        raise ValueError("a decimal has too many digits")
    return Decimal(int(number)).scaleb(exponent)


def _build_values(leaves: object, depth: int) -> Value:
    if isinstance(leaves, str):
        return parse_value(leaves)
    if depth and isinstance(leaves, list):
        return [_build_values(item, depth - 1) for item in leaves]
    if depth and isinstance(leaves, dict):
        if any(len(name.encode()) > NAME_MAX_BYTES for name in leaves):
            raise ValueError("the name is too long")
        return {name: _build_values(item, depth - 1) for name, item in leaves.items()}
    raise ValueError("the value is malformed or nested too deeply")


def limit_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return the first headers of a message that fit the limits, and log how many are removed.

    The limits are `COUNT_MAX` headers with `SIZE_MAX_CHARS` characters in total, in names and
    values. A header that does not fit is skipped; later, shorter ones may still fit.
    """
    if len(headers) <= COUNT_MAX and _measure_size(headers) <= SIZE_MAX_CHARS:
        return headers
    accepted_headers: dict[str, str] = {}
    room, left_out = SIZE_MAX_CHARS, 0
    for name, text in headers.items():
        size = len(name) + len(text)
        if len(accepted_headers) >= COUNT_MAX or size > room:
            left_out += 1
            continue
        accepted_headers[name] = text
        room -= size
    if left_out:
        logger.warning("removed %d headers that exceed the limits", left_out)
    return accepted_headers


def _measure_size(headers: dict[str, str]) -> int:
    return len("".join(headers)) + len("".join(headers.values()))
