"""Derivative kind `sketch`: hash and MinHash signature of a text.

Sketches find the versions and near-duplicates of a text. No links between texts are stored:
relations are computed from the rows. The result therefore does not depend on the order of arrival,
on the process that wrote a row, or on processes that were killed.

Limits: if more than 1,000 texts share a band (part of the signature), only the 1,000 with the
smallest SHA-1 are compared. At most 100 near-duplicates and 100 versions of a text are returned,
with their total numbers. Source: `text/minhash.py` and `text/similarity.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import groupby

from fonds.derivatives.documents import decode_blob_text, encode_text, find_owners
from fonds.derivatives.fixity import build_row_fixity
from fonds.derivatives.jats import KIND as JATS
from fonds.derivatives.kind import DerivativeKind, Fact, FileRelations, RelatedFile
from fonds.derivatives.pdf import KIND as PDF
from fonds.derivatives.pdf import is_placeholder
from fonds.model.file import PAGE_TYPES
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import PdfMetaRow, Row, StoryMetaRow, TextBandRow, TextSketchRow
from fonds.model.rows.row import DerivativeRow
from fonds.model.stored_json import clean_text
from fonds.ports import Blobs, Records
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, compute_bands, estimate_resemblance

BAND_MAX = 1_000
NEIGHBOURS_MAX = 50
"""Maximum number of versions of a story that are listed before a given version, and after it."""
RELATIVES_MAX = 2 * NEIGHBOURS_MAX
_ROW_BATCH = 20_000

BuildBands = Callable[[TextSketchRow], Sequence[TextBandRow]]
"""Function that returns the band rows that must exist for a sketch."""


def find_relatives(
    build_bands: BuildBands, records: Records, rows: Sequence[TextSketchRow]
) -> Mapping[str, FileRelations]:
    """Return the versions and near-duplicates of texts, by SHA-1.

    `rows` are the sketches of the texts.
    """
    versions = _find_versions(records, rows)
    near_duplicates = _find_near_duplicates(build_bands, records, rows)
    return {
        row.sha1hex: FileRelations(
            versions=versions[row.sha1hex][0],
            near_duplicates=near_duplicates[row.sha1hex][:RELATIVES_MAX],
            versions_total=versions[row.sha1hex][1],
            near_duplicates_total=len(near_duplicates[row.sha1hex]),
        )
        for row in rows
    }


def _find_versions(
    records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, tuple[list[RelatedFile], int]]:
    """Return the other versions of each row's story, oldest first, and their total number, by
    SHA-1.

    If there are more than 100, those captured just before and after the row are returned.
    """
    rows_by_story = defaultdict(list)
    for row in rows:
        rows_by_story[row.story_id].append(row)
    result: dict[str, tuple[list[RelatedFile], int]] = {}
    order = ("story_id", "captured", "sha1hex")
    stories = (
        records.find(TextSketchRow, {"story_id": sorted(rows_by_story)}, order=order)
        if rows
        else ()
    )
    for story_id, versions in groupby(stories, key=lambda version: version.story_id):
        window = _NeighbourWindow({row.sha1hex for row in rows_by_story[story_id]})
        for version in versions:
            window.add(version)
        for row in rows_by_story[story_id]:
            other_versions = [
                version
                for version in window.get_window(row.sha1hex)
                if version.sha1hex != row.sha1hex
            ]
            related_files = [_build_related(row, version) for version in other_versions]
            result[row.sha1hex] = (related_files, window.count - 1)
    return {row.sha1hex: result.get(row.sha1hex, ([], 0)) for row in rows}


class _NeighbourWindow:
    """Finds the neighbours of requested versions in a stream of a story's versions.

    `hashes`: SHA-1s of the requested versions. For each of them, up to 50 versions before it and 50
        after it are kept.
    """

    def __init__(self, hashes: set[str]) -> None:
        self._wanted_hashes = hashes
        self._last: list[TextSketchRow] = []
        self._windows: dict[str, list[TextSketchRow]] = {}
        self._room: dict[str, int] = {}
        self.count = 0

    def add(self, row: TextSketchRow) -> None:
        """Add the next version of the stream, which is in order of capture."""
        self.count += 1
        for key in list(self._room):
            self._windows[key].append(row)
            self._room[key] -= 1
            if not self._room[key]:
                del self._room[key]
        self._last = [*self._last[-NEIGHBOURS_MAX:], row]
        if row.sha1hex in self._wanted_hashes:
            self._windows[row.sha1hex] = list(self._last)
            self._room[row.sha1hex] = NEIGHBOURS_MAX

    def get_window(self, sha1hex: str) -> list[TextSketchRow]:
        """Return up to 50 versions before and after a requested version, with the version itself,
        in stream order.

        Returns [] if the stream did not have the requested version.
        """
        return self._windows.get(sha1hex, [])


def _find_near_duplicates(
    build_bands: BuildBands, records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, list[RelatedFile]]:
    """Return the near-duplicates of each row in other stories, the most similar first, by SHA-1."""
    bands = {row.sha1hex: {candidate.band for candidate in build_bands(row)} for row in rows}
    sharing = _find_sharing(records, sorted(set().union(*bands.values())))
    candidates = {
        key: {candidate for band in row_bands for candidate in sharing[band]} - {key}
        for key, row_bands in bands.items()
    }
    other_rows = _load_sketches(records, sorted(set().union(*candidates.values())))
    result = {}
    for row in rows:
        related_files = (
            _build_related(row, other_rows[key])
            for key in candidates[row.sha1hex]
            if key in other_rows
        )
        near_duplicates = [
            candidate
            for candidate in related_files
            if (candidate.resemblance or 0.0) >= RUNS_RESEMBLANCE_MIN
            and candidate.story_id != row.story_id
        ]
        result[row.sha1hex] = sorted(
            near_duplicates,
            key=lambda candidate: (-(candidate.resemblance or 0.0), candidate.sha1hex),
        )
    return result


def _find_sharing(records: Records, keys: Sequence[int]) -> dict[int, list[str]]:
    """Find the texts that have these MinHash bands (parts of the signature).

    Returns the SHA-1s of their files by band, at most 1,000 per band.
    """
    sharing: dict[int, list[str]] = defaultdict(list)
    row_count = 0
    for row in records.find(TextBandRow, {"band": list(keys)}, count_max=_ROW_BATCH):
        row_count += 1
        if len(sharing[row.band]) < BAND_MAX:
            sharing[row.band].append(row.sha1hex)
    if row_count < _ROW_BATCH:
        return sharing
    # A band shared by very many texts is not read to its end.
    for key in keys:
        band_rows = records.find(TextBandRow, {"band": key}, count_max=BAND_MAX)
        sharing[key] = [row.sha1hex for row in band_rows]
    return sharing


def _load_sketches(records: Records, keys: Sequence[str]) -> dict[str, TextSketchRow]:
    return {row.sha1hex: row for row in records.get(TextSketchRow, keys)} if keys else {}


def _build_related(row: TextSketchRow, other_row: TextSketchRow) -> RelatedFile:
    """Compare the text of `row` with another text, and return the other file as a related file."""
    has_signatures = bool(row.signature and other_row.signature)
    is_same_text = row.text_sha256hex == other_row.text_sha256hex
    signatures = (bytes.fromhex(row.signature), bytes.fromhex(other_row.signature))
    return RelatedFile(
        sha1hex=other_row.sha1hex,
        story_id=other_row.story_id,
        url=other_row.url,
        captured=other_row.captured,
        same_text=is_same_text,
        resemblance=1.0
        if is_same_text
        else round(estimate_resemblance(*signatures), 2)
        if has_signatures
        else None,
    )


EXTRACTOR = "minhash/2"
SUCCESS, TOO_SHORT, PLACEHOLDER = "success", "too-short", "placeholder"
FILES = (PDF, JATS)
"""Kinds of derivatives, other than stories, whose texts have sketches.

Each file of these kinds counts as a story of its own.
"""


def build_page_sketch(row: StoryMetaRow, text: str) -> TextSketchRow:
    """Compute the sketch of the text of a news page."""
    return _build_sketch(row.sha1hex, row.story_id, row.captured, row.updated, row.url, text)


def build_file_sketch(row: DerivativeRow, datetime14: str, url: str, text: str) -> TextSketchRow:
    """Compute the sketch of the text of a PDF or article; `text` is '' if the file has none.

    `datetime14` (14 digits) and `url` are the time and URL of the primary capture.
    """
    key = row.sha1hex
    sketch = _build_sketch(key, key, datetime14, row.updated, clean_text(url), text)
    if isinstance(row, PdfMetaRow) and is_placeholder(row):
        return replace(sketch, status=PLACEHOLDER, signature="")
    return sketch


def _build_sketch(
    sha1hex: str, id_: str, datetime14: str, updated_at: datetime, url: str, text: str
) -> TextSketchRow:
    # Imported here because most commands compute no sketch, and numpy takes 0.1 s to import.
    from fonds.text.minhash import compute_signature

    signature = compute_signature(text)
    return TextSketchRow(
        sha1hex=sha1hex,
        story_id=id_,
        captured=datetime14,
        updated=updated_at,
        status=SUCCESS if signature else TOO_SHORT,
        url=url,
        text_sha256hex=sha256(encode_text(text)).hexdigest(),
        signature=signature.hex() if signature else "",
        extractor=EXTRACTOR,
    )


def load_text_hashes(records: Records, sha1hexes: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the text of each file in hexadecimal, by SHA-1 of the file.

    Files without a stored text are omitted.
    """
    return {row.sha1hex: row.text_sha256hex for row in records.get(TextSketchRow, sha1hexes)}


def build_bands(row: TextSketchRow) -> list[TextBandRow]:
    """Build the rows that list the MinHash bands (parts of the signature) of a sketch."""
    keys = compute_bands(bytes.fromhex(row.signature)) if row.signature else []
    return [TextBandRow(band, row.sha1hex) for band in sorted(set(keys))]


def write_sketches(
    records: Records, rows: Sequence[TextSketchRow], companion_rows: Sequence[Row]
) -> None:
    """Write sketches in one transaction with their MinHash bands and fixity.

    `companion_rows`: further rows that are written in this transaction.

    Outdated bands of the same files are deleted first, so that a file never has bands of two texts.
    """
    bands = [band for row in rows for band in build_bands(row)]
    old_rows = records.get(TextSketchRow, [row.sha1hex for row in rows])
    old_bands = {
        (band_row.band, band_row.sha1hex) for row in old_rows for band_row in build_bands(row)
    }
    stale = old_bands - {(band_row.band, band_row.sha1hex) for band_row in bands}
    if stale:
        records.delete(TextBandRow, sorted(stale))
    records.put([*companion_rows, *rows, *map(build_row_fixity, rows), *bands])


def rebuild_sketches(records: Records, blobs: Blobs, sha1hexes: Sequence[str]) -> int:
    """Rebuild the sketches of files from stored texts, if missing, without bands, or outdated.

    Return the number of sketches rebuilt.
    """
    stored_rows = {row.sha1hex: row for row in records.get(TextSketchRow, sha1hexes)}
    expected_bands = [band for row in stored_rows.values() for band in build_bands(row)]
    keys = [(band_row.band, band_row.sha1hex) for band_row in expected_bands]
    stored_keys = (
        {(band_row.band, band_row.sha1hex) for band_row in records.get(TextBandRow, keys)}
        if keys
        else set()
    )
    incomplete = {sha1hex for band, sha1hex in keys if (band, sha1hex) not in stored_keys}
    complete = {
        key
        for key, row in stored_rows.items()
        if row.extractor == EXTRACTOR and key not in incomplete
    }
    remaining = [key for key in sha1hexes if key not in complete]
    sketches = [
        build_page_sketch(row, decode_blob_text(blob))
        for row in records.get(StoryMetaRow, remaining)
        if (blob := blobs.get(build_text_blob_key(row.sha1hex))) is not None
    ]
    sketches += _iter_file_sketches(records, blobs, remaining)
    if sketches:
        write_sketches(records, sketches, ())
    return len(sketches)


def _iter_file_sketches(
    records: Records, blobs: Blobs, sha1hexes: Sequence[str]
) -> Iterator[TextSketchRow]:
    """Compute and yield the sketches of PDFs and articles.

    Files whose text or primary capture is missing are skipped.
    """
    owners = find_owners(records, sha1hexes)
    for kind in FILES:
        for row in records.get(kind.row, sha1hexes):
            key, owner = row.sha1hex, owners.get(row.sha1hex)
            blob = blobs.get(build_text_blob_key(key)) if kind.list_blobs(row) else b""
            if blob is not None and owner is not None:
                yield build_file_sketch(row, owner.seen or "", owner.url, decode_blob_text(blob))


def _describe_change(row: TextSketchRow, relatives: FileRelations) -> str:
    """Return how a version of a story differs from the version captured before: `same-text` or
    `changed-text`.

    `relatives`: has the other versions of the story. Returns `first` if none was captured before.
    """
    position = (row.captured, row.sha1hex)
    earlier = [
        version for version in relatives.versions if (version.captured, version.sha1hex) < position
    ]
    if not earlier:
        return "first"
    return "same-text" if earlier[-1].same_text else "changed-text"


def _build_facts(row: TextSketchRow) -> list[Fact]:
    return [Fact("text SHA-256", row.text_sha256hex)]


def _build_related_values(row: TextSketchRow, relatives: FileRelations) -> dict[str, object]:
    of_story = row.story_id != row.sha1hex
    return {
        "text_sha256hex": row.text_sha256hex,
        "versions": relatives.versions_total + 1 if of_story else None,
        "version_change": _describe_change(row, relatives) if of_story else None,
        "near_duplicates": [related_file.sha1hex for related_file in relatives.near_duplicates]
        or None,
        "near_duplicate_count": relatives.near_duplicates_total,
    }


KIND = DerivativeKind(
    name="sketch",
    title="text sketch",
    mimetypes=(*PAGE_TYPES, *(mimetype for kind in FILES for mimetype in kind.mimetypes)),
    row=TextSketchRow,
    step="import_story",
    other_steps=tuple(kind.step for kind in FILES),
    build_rows=build_bands,
    columns={
        "text_sha256hex": "text",
        "versions": "integer",
        "version_change": "text",
        "near_duplicates": "texts",
        "near_duplicate_count": "integer",
    },
    build_facts=_build_facts,
    find_related=partial(find_relatives, build_bands),
    build_related_values=_build_related_values,
    rebuild=rebuild_sketches,
)
