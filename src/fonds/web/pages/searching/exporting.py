"""The whole result of a search, handed out as it is written: rows or references, alone or with a manifest."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from starlette.responses import StreamingResponse

from fonds import __version__
from fonds.library.searching.exported.drained import Drained
from fonds.library.searching.exported.forms import FORMS, Form, written
from fonds.library.searching.exported.rows import FIELDS
from fonds.library.searching.exported.warcs import Missed
from fonds.library.searching.manifest import SUFFIX, Manifest, as_json, asked_of
from fonds.library.searching.members import Members
from fonds.library.searching.whole import Contents, Found, found_now, lasted, whole
from fonds.model.document import IndexDocument
from fonds.model.names import no_such
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.pages.searching.form import SearchForm
from fonds.web.pages.searching.search import EXPORTED_MAX
from fonds.web.pages.searching.themes import uncounted
from fonds.web.rendering import OpenStores

PACKED = ".zip"
Name = Annotated[
    str,
    Path(
        max_length=40,
        description="jsonl, csv, parquet, bibtex, csl, warc or wacz; .zip adds a manifest",
    ),
]

router = APIRouter(dependencies=[READS])


@router.get("/search/export/{name}", include_in_schema=False, response_class=StreamingResponse)
@router.get(
    "/api/search/export/{name}",
    response_class=StreamingResponse,
    summary="The whole result of a search, up to 100,000 documents",
)
def export(
    stores: OpenStores, name: Name, form: Annotated[SearchForm, Query()]
) -> StreamingResponse:
    """Rows without texts, references, or captures. Packed, a manifest says query, count, hashes and when."""
    is_packed = name.endswith(PACKED)
    said = name.removesuffix(PACKED)
    if said not in FORMS:
        raise HTTPException(404, f"{no_such('form of an export', said, FORMS).capitalize()}.")
    try:
        found = found_now(stores.index, uncounted(form))
        if not found.total:
            raise HTTPException(404, _nothing(stores, form))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    file = f"search.{FORMS[said].suffix}"
    if is_packed:
        pieces, media, file = packet(stores, said, found, file), "application/zip", "search.zip"
    else:
        pieces, media = (
            _pieces(stores, FORMS[said], _documents(stores, found, Contents())),
            FORMS[said].media_type,
        )
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return StreamingResponse(pieces, media_type=media, headers=headers)


def _nothing(stores: Stores, form: SearchForm) -> str:
    """Why there is nothing to be had."""
    notes = stores.index.search(replace(form.query(), count_max=1, offset=0, after=None)).notes
    return " ".join(["There is nothing to export: the search finds no document.", *notes])


def _documents(stores: Stores, found: Found, contents: Contents) -> Iterator[IndexDocument]:
    return contents.noted(whole(stores.index, found.query, EXPORTED_MAX))


def _pieces(stores: Stores, form: Form, documents: Iterator[IndexDocument]) -> Iterator[bytes]:
    return written(form, stores, documents, with_text=False, missed=Missed())


def packet(stores: Stores, name: str, found: Found, file: str) -> Iterator[bytes]:
    """A ZIP of the result and, behind it, its manifest, which `fonds verify` takes back when unpacked."""
    contents, digest, sink = Contents(), hashlib.sha256(), Drained()
    form, now, members = FORMS[name], datetime.now(UTC), Members(stores.records)
    documents = members.noted(_documents(stores, found, contents))
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(
            zipfile.ZipInfo(file, now.timetuple()[:6]), "w", force_zip64=True
        ) as entry:
            for piece in _pieces(stores, form, documents):
                digest.update(piece)
                entry.write(piece)
                yield sink.taken()
        manifest = Manifest(
            file=file, format=name, rows=contents.count, sha256=digest.hexdigest(),
            fields=list(FIELDS) if form.rows is not None else [], written_at=now, fonds=__version__,
            asked=asked_of(found, EXPORTED_MAX), documents_sha256=contents.sha256hex,
            extractors=list(members.extractors), documents=members.lines,
            generation=lasted(stores.index, found.generation),
        )  # fmt: skip
        archive.writestr(zipfile.ZipInfo(f"{file}{SUFFIX}", now.timetuple()[:6]), as_json(manifest))
    yield sink.taken()
