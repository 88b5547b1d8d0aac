"""The messages of `pdf-thumbnail-SIZE-TYPE`: the picture's bytes, keyed by the PDF's SHA-1.

Source: seed 003, "Thumbnail Images".
"""

from __future__ import annotations

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.keys import sha1_from_text
from fonds.model.message import Message
from fonds.model.pdf import PAGE0_FORM, Thumbnail


def to_wire(item: Thumbnail) -> bytes:
    """The body of its message."""
    return item.image


def from_wire(message: Message, tag: str | None = None) -> Thumbnail:
    """The picture again; `tag` is its form. Raises DamagedInputError (`bad-message`) for a key that is no
    SHA-1, and for no picture at all."""
    raw = sha1_from_text(message.key)
    if raw is None or not message.body:
        told = (
            f"a thumbnail needs the PDF's SHA-1 as its key, not {message.key[:60]!r}, and a picture"
        )
        raise DamagedInputError(Reason.BAD_MESSAGE, told)
    return Thumbnail(sha1hex=raw.hex(), form=tag or PAGE0_FORM, image=message.body)
