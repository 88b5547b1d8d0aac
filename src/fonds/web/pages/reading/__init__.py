"""Files read in the browser: a PDF page by page, a file as it is, versions of a story, citations."""

from fonds.web.pages.reading import changes, citing, pdf_page

ROUTERS = (pdf_page.router, changes.router, citing.router)
