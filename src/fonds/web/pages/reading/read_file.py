"""The file a page is about, and what all pages of reading ask of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query
from starlette.responses import RedirectResponse, Response

from fonds.library.description import Description, description
from fonds.library.reading.hits import Wanted
from fonds.model.keys import sha1_from_text
from fonds.ports import Stores
from fonds.web.pages.file import KEY_MAX_CHARS, file_title, unknown_file
from fonds.web.pages.reading.found import QUERY_MAX_CHARS, wanted_of

PDF_TYPE = "application/pdf"

Words = Annotated[
    str, Query(max_length=QUERY_MAX_CHARS, description="What to mark, in the words of a search")
]


def known_file(stores: Stores, sha1hex: str) -> Description:
    """What is known of a file. Raises HTTPException 404 where nothing is."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    found = description(stores, raw.hex()) if raw is not None else None
    if found is None or not found.known:
        raise HTTPException(404, unknown_file(sha1hex))
    return found


def other_spelling(sha1hex: str, rest: str) -> Response | None:
    """On to the address with the SHA-1 in hex, of one that has it in base32 or capitals."""
    raw = sha1_from_text(sha1hex[:KEY_MAX_CHARS])
    if raw is None or raw.hex() == sha1hex:
        return None
    return RedirectResponse(f"/file/{raw.hex()}{rest}", 303)


def is_pdf(found: Description) -> bool:
    """Whether its bytes were found to be a PDF."""
    return found.file is not None and found.file.mimetype == PDF_TYPE


def asked_words(query: str, found: Description) -> Wanted:
    """What is to be marked. Raises RefusedError 400 for a query that cannot be understood."""
    return wanted_of(query, file_title(found)[1], "q")
