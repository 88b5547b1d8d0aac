"""Convert plain text to HTML, so that it is extracted like any other page."""

from __future__ import annotations

import re
from html import escape

TITLE_MAX_CHARS = 200
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def convert_to_html(text: str) -> str:
    """Return the text as HTML, one paragraph for each run of lines between blank lines.

    A first line of at most 200 characters is the title if a blank line and more text follow.
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
    body_paragraphs = paragraphs[1:] if title else paragraphs
    body_html = "".join(
        f"<p>{escape(' '.join(paragraph.split()))}</p>" for paragraph in body_paragraphs
    )
    return f"<html><head>{head}</head><body><article>{heading}{body_html}</article></body></html>"
