"""Headers of other programs as text: each type a broker knows has a spelling, and comes back from it.

Text is spelled as it is. Anything else begins with its type: `!int 5`, `!float 1.5`, `!bool true`,
`!none`, `!decimal 1.50`, `!time 1700000000` (Unix seconds), `!bytes /wA=` (base64), `!list ["a","!int 1"]`
and `!table {"a":"!bytes AA=="}`, whose leaves are spelled in turn. Text that would be taken for one of
these has `!text ` before it. A text that is no spelling as written here, to the letter, is text; so is a
float that is no number, over which RabbitMQ ends the connection.
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
    """A moment as brokers write it: Unix seconds, of any size that fits 64 bits without a sign."""

    seconds: int


Value: TypeAlias = (
    "str | bytes | int | float | bool | Decimal | HeaderTime | list[Value] | dict[str,"
    " Value] | None"
)


def format_value(value: Value) -> str:
    """The text of a header; `parse_value` gives the value back."""
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
        return [_convert_leaves(one) for one in value]
    if isinstance(value, dict):
        return {name: _convert_leaves(one) for name, one in value.items()}
    return format_value(value)


def parse_value(text: str) -> Value:
    """What a header of this text is to a broker: the text itself, unless it is a spelling."""
    if not text.startswith(MARK) or len(text) > SIZE_MAX_CHARS:
        return text
    kind, _, rest = text[1:].partition(" ")
    if kind == "text":
        inner = parse_value(rest)
        return rest if isinstance(inner, str) is False or inner != rest else text
    try:
        value = _parse_leaf(kind, rest)
    except (ValueError, InvalidOperation, RecursionError):
        return text
    # Only what would be spelled so is a spelling: each text stands for one value.
    return value if not isinstance(value, str) and format_value(value) == text else text


def _parse_leaf(kind: str, text: str) -> Value:
    """Raises ValueError or InvalidOperation for what is not of this kind."""
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
        found = _build_values(json.loads(text), DEPTH_MAX)
        if isinstance(found, list if kind == "list" else dict):
            return found
    raise ValueError(f"no {kind}: {text[:40]}")


def _parse_decimal(text: str) -> Decimal:
    """What fits the eight bits of scale and 32 of digits brokers give it."""
    sign, digits, exponent = Decimal(text[:40]).as_tuple()
    number = Decimal((sign, digits, 0))
    if not isinstance(exponent, int) or not -255 <= exponent <= 0 or not digits:
        raise ValueError("a decimal of another scale")
    if not DIGITS_MIN <= number <= DIGITS_MAX:
        raise ValueError("a decimal of too many digits")
    return Decimal(int(number)).scaleb(exponent)


def _build_values(leaves: object, depth: int) -> Value:
    if isinstance(leaves, str):
        return parse_value(leaves)
    if depth and isinstance(leaves, list):
        return [_build_values(one, depth - 1) for one in leaves]
    if depth and isinstance(leaves, dict):
        if any(len(name.encode()) > NAME_MAX_BYTES for name in leaves):
            raise ValueError("a name too long")
        return {name: _build_values(one, depth - 1) for name, one in leaves.items()}
    raise ValueError("a leaf that is not spelled, or too deep")


def limit_headers(headers: dict[str, str]) -> dict[str, str]:
    """The first `COUNT_MAX` headers that fit `SIZE_MAX_CHARS` in all; the rest is left out and told of."""
    if len(headers) <= COUNT_MAX and _measure_size(headers) <= SIZE_MAX_CHARS:
        return headers
    kept: dict[str, str] = {}
    room, left_out = SIZE_MAX_CHARS, 0
    for name, text in headers.items():
        size = len(name) + len(text)
        if len(kept) >= COUNT_MAX or size > room:
            left_out += 1
            continue
        kept[name] = text
        room -= size
    if left_out:
        logger.warning("a message with %d headers beyond the limits; they are left out", left_out)
    return kept


def _measure_size(headers: dict[str, str]) -> int:
    return len("".join(headers)) + len("".join(headers.values()))
