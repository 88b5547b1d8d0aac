"""Cursors of lists of documents: the row after which a page begins, as text for links, the API and
commands.
"""

from __future__ import annotations

import base64
import binascii


def encode_cursor(row: bytes) -> str:
    """Encode the key of the last row of a page as a cursor, which is opaque to clients."""
    return base64.urlsafe_b64encode(row).decode().rstrip("=")


def decode_cursor(cursor: str) -> bytes | None:
    """Decode a cursor to the key of the row after which a page begins.

    Return None for '', i.e. for the first page. Raises ValueError for an invalid cursor.
    """
    if not cursor:
        return None
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("this is not a cursor. Start with the first page") from error
