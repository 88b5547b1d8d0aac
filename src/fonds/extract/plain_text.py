"""Plain text as a page, so that it is read as every other page is."""

from __future__ import annotations

import re
from html import escape

TITLE_MAX_CHARS = 200
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def convert_to_html(text: str) -> str:
    """Return the text as HTML: a paragraph for each run of lines.

    A first line of at most 200 characters is the title if a blank line follows it and more text.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    paragraphs = _BLANK_LINES.split(lines)
    title = ""
    if len(paragraphs) > 1 and "\n" not in paragraphs[0].strip():
        title = paragraphs[0].strip()
    if len(title) > TITLE_MAX_CHARS:
        title = ""
    head = f"<title>{escape(title)}</title>" if title else ""
    heading = f"<h1>{escape(title)}</h1>" if title else ""
    shown = paragraphs[1:] if title else paragraphs
    told = "".join(f"<p>{escape(' '.join(one.split()))}</p>" for one in shown)
    return f"<html><head>{head}</head><body><article>{heading}{told}</article></body></html>"
