"""The routes of the pages on which files are read."""

from __future__ import annotations

from fonds.web.pages.reading import changes, citing, edits, pdf_page, raw, rereading

ROUTERS = (
    pdf_page.router,
    changes.router,
    edits.router,
    rereading.router,
    citing.router,
    raw.router,
)
