"""What a form of ours sends: few short fields, each once; anything else is none of these pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from urllib.parse import parse_qsl

from fastapi import Request

from fonds.model.keys import parse_sha1
from fonds.web.serving.problems import RefusedError

FORM_MAX_BYTES = 32_768
FOREIGN_FORM_MESSAGE = "The form is none of these pages."


@dataclass(frozen=True, slots=True)
class FormFields:
    """A form with these fields; what was left out is empty, or with `has_only_sent` it is not there."""

    names: frozenset[str]
    max_bytes: int = FORM_MAX_BYTES
    has_only_sent: bool = False

    async def __call__(self, request: Request) -> dict[str, str]:
        """The fields by their names. Raises RefusedError 400 or 413 for what none of our forms sends."""
        sent = bytearray()
        async for piece in request.stream():
            sent += piece
            if len(sent) > self.max_bytes:
                raise RefusedError(413, FOREIGN_FORM_MESSAGE)
        try:
            # A browser encodes whatever is not ASCII.
            text, count_max = sent.decode("ascii"), len(self.names)
            pairs = parse_qsl(text, max_num_fields=count_max, keep_blank_values=True)
        except ValueError:
            raise RefusedError(400, FOREIGN_FORM_MESSAGE) from None
        named = dict(pairs)
        if len(named) < len(pairs) or not named.keys() <= self.names:
            raise RefusedError(400, FOREIGN_FORM_MESSAGE)
        return named if self.has_only_sent else {name: named.get(name, "") for name in self.names}


def parse_sha1hex(text: str) -> str:
    """The SHA-1 in the field `sha1hex`, in hex. Raises RefusedError 400 for what is none."""
    raw = parse_sha1(text.strip())
    if raw is None:
        said = f"“{text[:60]}” is not a SHA-1 in hex or base32."
        raise RefusedError(400, said, parameter="sha1hex")
    return raw.hex()


def parse_day(text: str, name: str) -> datetime | None:
    """When the day in the field `name` begins, in UTC; None for an empty one. Raises RefusedError 400 for
    what is no day."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time.min, UTC)
    except ValueError as error:
        said = f"“{text[:40]}” is no day; write 2027-12-31."
        raise RefusedError(400, said, parameter=name) from error
