"""Files read in the browser: a PDF page by page, bytes, versions and edits of stories, citations."""

from fonds.web.pages.reading import changes, citing, edits, pdf_page, raw, rereading

ROUTERS = (
    pdf_page.router,
    changes.router,
    edits.router,
    rereading.router,
    citing.router,
    raw.router,
)
