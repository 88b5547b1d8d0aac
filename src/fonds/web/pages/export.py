"""Streamed export of all results of a search, with or without a manifest, and the Atom feed of the
search.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Annotated
from xml.etree import ElementTree as Xml

from fastapi import APIRouter, HTTPException, Path, Request
from msgspec import structs
from starlette.responses import Response, StreamingResponse

from fonds import __version__
from fonds.model.document import IndexDocument
from fonds.model.search import Hit
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Stores
from fonds.search.export_formats import EXPORT_FORMATS, ExportFormat, export_documents
from fonds.search.export_rows import FIELDS
from fonds.search.export_warcs import DrainableStream, MissingDocuments
from fonds.search.manifest import (
    SUFFIX,
    Manifest,
    ManifestMembers,
    build_exported_search,
    encode_manifest,
)
from fonds.search.request import FILTERS, SearchRequest
from fonds.search.run_search import count_request, run_search
from fonds.search.scan import (
    MatchCount,
    ResultContents,
    confirm_generation,
    iter_documents,
)
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_url, capitalize
from fonds.web.pages.search import EXPORTED_MAX
from fonds.web.serving.atom import MEDIA_TYPE, NO_UPDATE_AT, add, create_feed, encode_feed
from fonds.web.serving.parameters import take_search

PACKED = ".zip"
Name = Annotated[
    str,
    Path(
        max_length=40,
        description="jsonl, csv, parquet, bibtex, csl, warc or wacz; .zip adds a manifest",
    ),
]

router = APIRouter(tags=["search"], dependencies=[READS])


@router.get("/search/export/{name}", include_in_schema=False, response_class=StreamingResponse)
@router.get(
    "/api/search/export/{name}",
    response_class=StreamingResponse,
    summary="Export a search, up to 100,000 documents",
    operation_id="export_search",
)
def export(
    stores: OpenStores, name: Name, form: Annotated[SearchRequest, take_search(*FILTERS)]
) -> StreamingResponse:
    """Export a result as rows without text, as references or as captures.

    A `.zip` also holds a manifest with the query, count, hashes and time.
    """
    is_packed = name.endswith(PACKED)
    format_name = name.removesuffix(PACKED)
    if format_name not in EXPORT_FORMATS:
        raise HTTPException(
            404,
            f"{capitalize(format_unknown_name('form of an export', format_name, EXPORT_FORMATS))}.",
        )
    try:
        matches = count_request(form, stores)
        if not matches.total:
            raise HTTPException(404, _explain_empty(stores, form))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    file = f"search.{EXPORT_FORMATS[format_name].suffix}"
    if is_packed:
        pieces, media, file = (
            iter_package(stores, format_name, form, matches, file),
            "application/zip",
            "search.zip",
        )
    else:
        pieces, media = (
            _iter_pieces(
                stores,
                EXPORT_FORMATS[format_name],
                _iter_documents(stores, matches, ResultContents()),
            ),
            EXPORT_FORMATS[format_name].media_type,
        )
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return StreamingResponse(pieces, media_type=media, headers=headers)


def _explain_empty(stores: Stores, form: SearchRequest) -> str:
    """Return a sentence that the search found nothing to export, with the notes of the search (such
    as words that no document has).
    """
    notes = stores.index.search(replace(form.build_query(), count_max=1)).notes
    return " ".join(["The search finds no documents, so there is nothing to export.", *notes])


def _iter_documents(
    stores: Stores, matches: MatchCount, contents: ResultContents
) -> Iterator[IndexDocument]:
    return contents.collect(iter_documents(stores.index, matches.query, EXPORTED_MAX))


def _iter_pieces(
    stores: Stores, form: ExportFormat, documents: Iterator[IndexDocument]
) -> Iterator[bytes]:
    return export_documents(
        form, stores, documents, with_text=False, missing_documents=MissingDocuments()
    )


def iter_package(
    stores: Stores, name: str, search: SearchRequest, matches: MatchCount, file: str
) -> Iterator[bytes]:
    """Yield the bytes of a ZIP file with the exported results and, last, the manifest.

    `fonds verify` accepts the manifest after the ZIP file is unpacked.
    """
    contents, digest, sink = ResultContents(), hashlib.sha256(), DrainableStream()
    form, now, members = EXPORT_FORMATS[name], datetime.now(UTC), ManifestMembers(stores.records)
    documents = members.collect(_iter_documents(stores, matches, contents))
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(
            zipfile.ZipInfo(file, now.timetuple()[:6]), "w", force_zip64=True
        ) as entry:
            for piece in _iter_pieces(stores, form, documents):
                digest.update(piece)
                entry.write(piece)
                yield sink.drain()
        manifest = Manifest(
            file=file, format=name, rows=contents.count, sha256=digest.hexdigest(),
            fields=list(FIELDS) if form.rows is not None else [], written_at=now, fonds=__version__,
            search=build_exported_search(search, matches, EXPORTED_MAX), documents_sha256=contents.sha256hex,
            extractors=list(members.extractors), documents=members.lines,
            generation=confirm_generation(stores.index, matches.generation),
        )  # fmt: skip
        archive.writestr(
            zipfile.ZipInfo(f"{file}{SUFFIX}", now.timetuple()[:6]), encode_manifest(manifest)
        )
    yield sink.drain()


# Atom feed of a search, for feed readers.


ENTRIES = 50


@router.get("/search.atom", response_class=Response, include_in_schema=False)
@router.get(
    "/api/search.atom",
    response_class=Response,
    summary="Atom feed of a search: the 50 documents added last",
    operation_id="get_search_feed",
)
def feed(
    request: Request, stores: OpenStores, form: Annotated[SearchRequest, take_search(*FILTERS)]
) -> Response:
    """Return the documents added last, regardless of the requested order and page."""
    newest = {"sort": "added", "size": ENTRIES, "facets": 0, "match": form.match or "exact"}
    try:
        hits = run_search(structs.replace(form, **newest), stores.index, stores).results.hits
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    origin = str(request.base_url).rstrip("/")
    body = _build_atom(
        origin, build_url("/search", **form.build_filters()), form.q.strip() or "everything", hits
    )
    return Response(body, media_type=MEDIA_TYPE)


def _build_atom(origin: str, path: str, title: str, hits: Sequence[Hit]) -> bytes:
    updated_at = max((hit.document.indexed_date for hit in hits), default=NO_UPDATE_AT)
    feed_path = path.replace("/search", "/search.atom", 1)
    top = create_feed(f"Search: {title}", f"{origin}{path}", f"{origin}{feed_path}", updated_at)
    for hit in hits:
        _add_entry(top, origin, hit)
    return encode_feed(top)


def _add_entry(top: Xml.Element, origin: str, hit: Hit) -> None:
    document = hit.document
    entry = add(top, "entry")
    add(
        entry,
        "id",
        f"urn:sha1:{document.sha1hex}"
        if document.id == document.sha1hex
        else f"{origin}/{document.id}",
    )
    add(entry, "title", document.article_title or document.url)
    add(entry, "updated", document.indexed_date.astimezone(UTC).isoformat())
    if document.publication_date:
        add(entry, "published", _format_midnight(document.publication_date))
    for name in document.authors:
        add(add(entry, "author"), "name", name)
    if rights := [*document.holders, *document.licenses]:
        add(entry, "rights", "; ".join(rights))
    Xml.SubElement(
        entry, "link", rel="alternate", type="text/html", href=f"{origin}/file/{document.sha1hex}"
    )
    snippets = hit.version.snippets[:1] if hit.version else [hit.snippet]
    add(entry, "summary", " ".join(snippet.text_with_ellipses[0] for snippet in snippets))


def _format_midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
