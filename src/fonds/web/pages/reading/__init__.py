"""Files read in the browser: a PDF page by page, a file as it is, versions of a story, citations."""

from fonds.web.pages.reading import changes, citing, pdf_page, rereading

ROUTERS = (pdf_page.router, changes.router, rereading.router, citing.router)
