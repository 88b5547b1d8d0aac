"""The kind `sketch`: what is kept of a text, by which a story's versions and near-duplicates are known.

Source: `extract/similarity/minhash.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from fonds.extract.similarity.comparing import bands
from fonds.kinds.documents import cleaned, owners, text_bytes, text_of
from fonds.kinds.fixity import fixity_of_row
from fonds.kinds.kind import DerivativeKind, Fact, Relatives
from fonds.kinds.papers.jats import KIND as JATS
from fonds.kinds.pdf import KIND as PDF
from fonds.kinds.pdf import is_placeholder
from fonds.kinds.similarity.relatives import relatives
from fonds.model.file import PAGE_TYPES
from fonds.model.keys import text_blob_key
from fonds.model.rows import PdfMetaRow, Row, StoryMetaRow, TextBandRow, TextSketchRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Records

EXTRACTOR = "minhash/1"
SUCCESS, TOO_SHORT, PLACEHOLDER = "success", "too-short", "placeholder"
FILES = (PDF, JATS)
"""The kinds whose texts are sketched beside those of stories; each file stands for itself."""


def sketch(row: StoryMetaRow, text: str) -> TextSketchRow:
    """What is kept of the text of a page."""
    return _sketched(row.sha1hex, row.story_id, row.captured, row.updated, row.url, text)


def file_sketch(row: DerivativeRow, captured: str, url: str, text: str) -> TextSketchRow:
    """What is kept of the text of a PDF or an article, "" where it has none. `captured` and `url` are those
    of its capture, the time in 14 digits."""
    key = row.sha1hex
    made = _sketched(key, key, captured, row.updated, cleaned(url), text)
    if isinstance(row, PdfMetaRow) and is_placeholder(row):
        return replace(made, status=PLACEHOLDER, signature="")
    return made


def _sketched(
    sha1hex: str, id_: str, captured: str, updated: datetime, url: str, text: str
) -> TextSketchRow:
    # Most commands know this kind and make none of it; numpy takes a tenth of a second.
    from fonds.extract.similarity.minhash import signature

    signed = signature(text)
    return TextSketchRow(
        sha1hex=sha1hex,
        story_id=id_,
        captured=captured,
        updated=updated,
        status=SUCCESS if signed else TOO_SHORT,
        url=url,
        text_sha256hex=sha256(text_bytes(text)).hexdigest(),
        signature=signed.hex() if signed else "",
        extractor=EXTRACTOR,
    )


def text_hashes(records: Records, sha1hexes: Sequence[str]) -> dict[str, str]:
    """SHA-256 in hex of the texts of these files, by SHA-1; absent where no text is kept."""
    return {row.sha1hex: row.text_sha256hex for row in records.get(TextSketchRow, sha1hexes)}


def bands_of(row: TextSketchRow) -> list[TextBandRow]:
    """The bands a row promises."""
    keys = bands(bytes.fromhex(row.signature)) if row.signature else []
    return [TextBandRow(band, row.sha1hex) for band in sorted(set(keys))]


def put_sketches(records: Records, rows: Sequence[TextSketchRow], beside: Sequence[Row]) -> None:
    """Keep these rows with their bands and fixity, and what is given beside them, in one transaction.

    Bands that earlier texts of the same files had are taken away before: what is there of a file is never
    of two texts.
    """
    wanted = [band for row in rows for band in bands_of(row)]
    before = records.get(TextSketchRow, [row.sha1hex for row in rows])
    there = {(one.band, one.sha1hex) for row in before for one in bands_of(row)}
    stale = there - {(one.band, one.sha1hex) for one in wanted}
    if stale:
        records.delete(TextBandRow, sorted(stale))
    records.put([*beside, *rows, *map(fixity_of_row, rows), *wanted])


def made_again(records: Records, blobs: Blobs, sha1hexes: Sequence[str]) -> int:
    """Make what is missing or made otherwise, of texts that are there; how many were made."""
    known = {row.sha1hex: row for row in records.get(TextSketchRow, sha1hexes)}
    promised = [band for row in known.values() for band in bands_of(row)]
    keys = [(one.band, one.sha1hex) for one in promised]
    there = {(one.band, one.sha1hex) for one in records.get(TextBandRow, keys)} if keys else set()
    lacking = {sha1hex for band, sha1hex in keys if (band, sha1hex) not in there}
    whole = {key for key, row in known.items() if row.extractor == EXTRACTOR and key not in lacking}
    left = [key for key in sha1hexes if key not in whole]
    made = [
        sketch(row, text_of(blob))
        for row in records.get(StoryMetaRow, left)
        if (blob := blobs.get(text_blob_key(row.sha1hex))) is not None
    ]
    made += _of_files(records, blobs, left)
    if made:
        put_sketches(records, made, ())
    return len(made)


def _of_files(records: Records, blobs: Blobs, sha1hexes: Sequence[str]) -> Iterator[TextSketchRow]:
    """The sketches of those that are PDFs or articles, but for those whose text is gone."""
    came = owners(records, sha1hexes)
    for kind in FILES:
        for row in records.get(kind.row, sha1hexes):
            key, owner = row.sha1hex, came.get(row.sha1hex)
            blob = blobs.get(text_blob_key(key)) if kind.blobs(row) else b""
            if blob is not None and owner is not None:
                yield file_sketch(row, owner.seen or "", owner.url, text_of(blob))


def _change(row: TextSketchRow, told: Relatives) -> str:
    """How a version differs from the one captured before it: `first`, `same-text` or `changed-text`."""
    place = (row.captured, row.sha1hex)
    earlier = [one for one in told.versions if (one.captured, one.sha1hex) < place]
    if not earlier:
        return "first"
    return "same-text" if earlier[-1].same_text else "changed-text"


def _facts(row: TextSketchRow) -> list[Fact]:
    return [Fact("text SHA-256", row.text_sha256hex)]


def _related_values(row: TextSketchRow, told: Relatives) -> dict[str, object]:
    of_story = row.story_id != row.sha1hex
    return {
        "text_sha256hex": row.text_sha256hex,
        "versions": told.versions_total + 1 if of_story else None,
        "version_change": _change(row, told) if of_story else None,
        "near_duplicates": [one.sha1hex for one in told.near_duplicates] or None,
        "near_duplicate_count": told.near_duplicates_total,
    }


KIND = DerivativeKind(
    name="sketch",
    title="text sketch",
    mimetypes=(*PAGE_TYPES, *(one for kind in FILES for one in kind.mimetypes)),
    row=TextSketchRow,
    step="import_story",
    other_steps=tuple(kind.step for kind in FILES),
    rows=bands_of,
    columns={
        "text_sha256hex": "text",
        "versions": "integer",
        "version_change": "text",
        "near_duplicates": "texts",
        "near_duplicate_count": "integer",
    },
    facts=_facts,
    related=partial(relatives, bands_of),
    related_values=_related_values,
    made_again=made_again,
)
