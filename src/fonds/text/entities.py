"""Decode the character references of HTML, such as `&amp;` and `&#228;`, in untrusted text.

Limits: linear in the text.
"""

from __future__ import annotations

import html
import re

_LONG_REFERENCE = re.compile(r"&#[0-9]{1000,};?")
"""Decimal references with more digits than Python converts to a number. No character has one."""


def decode_entities(text: str) -> str:
    """Return a text with its character references decoded once, as in HTML5.

    A reference to a code that no character has becomes U+FFFD.
    """
    if "&" not in text:
        return text
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))
