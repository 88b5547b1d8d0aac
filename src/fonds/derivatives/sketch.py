"""The kind `sketch`: what is kept of a text, by which a story's versions and near-duplicates
are known.

Source: `text/minhash.py` and `text/similarity.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import groupby

from fonds.derivatives.documents import clean_text, decode_blob_text, encode_text, find_owners
from fonds.derivatives.fixity import build_row_fixity
from fonds.derivatives.jats import KIND as JATS
from fonds.derivatives.kind import DerivativeKind, Fact, FileRelations, RelatedFile
from fonds.derivatives.pdf import KIND as PDF
from fonds.derivatives.pdf import is_placeholder
from fonds.model.file import PAGE_TYPES
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import PdfMetaRow, Row, StoryMetaRow, TextBandRow, TextSketchRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Records
from fonds.text.similarity import compute_bands, estimate_resemblance

# What stands beside a text: the other versions of its story, and other stories that are nearly the same.
#
# No links are kept: which texts stand beside one another follows from the rows that are there, so that it is
# the same whatever came first, whoever wrote it, and whoever died in between.
#
# Bound: of a band that more than 1,000 texts share those with the smallest SHA-1 are looked at; of one
# text 100 near-duplicates and 100 versions are told at most, and how many there are.


RESEMBLANCE_MIN = 0.6
"""Texts that have so much in common are near-duplicates."""

BAND_MAX = 1_000
RELATIVES_MAX = 100
_ROW_BATCH = 20_000

BuildBands = Callable[[TextSketchRow], Sequence[TextBandRow]]
"""The bands a row promises."""


def find_relatives(
    build_bands: BuildBands, records: Records, rows: Sequence[TextSketchRow]
) -> Mapping[str, FileRelations]:
    """The versions of the stories these texts are of, and what is nearly the same, by SHA-1."""
    beside = _find_versions(records, rows)
    near = _find_near_duplicates(build_bands, records, rows)
    return {
        row.sha1hex: FileRelations(
            versions=beside[row.sha1hex][0],
            near_duplicates=near[row.sha1hex][:RELATIVES_MAX],
            versions_total=beside[row.sha1hex][1],
            near_duplicates_total=len(near[row.sha1hex]),
        )
        for row in rows
    }


def _find_versions(
    records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, tuple[list[RelatedFile], int]]:
    """Of each row the other versions of its story, oldest first, and how many there are. Of more than a
    hundred those captured around it are told."""
    mine = defaultdict(list)
    for row in rows:
        mine[row.story_id].append(row)
    found: dict[str, tuple[list[RelatedFile], int]] = {}
    order = ("story_id", "captured", "sha1hex")
    stories = records.find(TextSketchRow, {"story_id": sorted(mine)}, order=order) if rows else ()
    for story_id, versions in groupby(stories, key=lambda one: one.story_id):
        around = _NeighbourWindow({row.sha1hex for row in mine[story_id]})
        for one in versions:
            around.add(one)
        for row in mine[story_id]:
            others = [one for one in around.get_window(row.sha1hex) if one.sha1hex != row.sha1hex]
            told = [_build_related(row, one) for one in others]
            found[row.sha1hex] = (told, around.count - 1)
    return {row.sha1hex: found.get(row.sha1hex, ([], 0)) for row in rows}


class _NeighbourWindow:
    """Of a stream of versions those before and behind some of them, fifty each way."""

    def __init__(self, hashes: set[str]) -> None:
        self._wanted_hashes = hashes
        self._last: list[TextSketchRow] = []
        self._windows: dict[str, list[TextSketchRow]] = {}
        self._room: dict[str, int] = {}
        self.count = 0

    def add(self, row: TextSketchRow) -> None:
        """The next version."""
        self.count += 1
        for key in list(self._room):
            self._windows[key].append(row)
            self._room[key] -= 1
            if not self._room[key]:
                del self._room[key]
        self._last = [*self._last[-RELATIVES_MAX // 2 :], row]
        if row.sha1hex in self._wanted_hashes:
            self._windows[row.sha1hex] = list(self._last)
            self._room[row.sha1hex] = RELATIVES_MAX // 2

    def get_window(self, sha1hex: str) -> list[TextSketchRow]:
        """Those around one of the wanted, itself among them."""
        return self._windows.get(sha1hex, [])


def _find_near_duplicates(
    build_bands: BuildBands, records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, list[RelatedFile]]:
    """Of each row the texts of other stories that are nearly the same, the most alike first."""
    asked = {row.sha1hex: {one.band for one in build_bands(row)} for row in rows}
    sharing = _find_sharing(records, sorted(set().union(*asked.values())))
    candidates = {
        key: {one for band in mine for one in sharing[band]} - {key} for key, mine in asked.items()
    }
    others = _load_sketches(records, sorted(set().union(*candidates.values())))
    found = {}
    for row in rows:
        alike = (
            _build_related(row, others[key]) for key in candidates[row.sha1hex] if key in others
        )
        told = [
            one
            for one in alike
            if (one.resemblance or 0.0) >= RESEMBLANCE_MIN and one.story_id != row.story_id
        ]
        found[row.sha1hex] = sorted(told, key=lambda one: (-(one.resemblance or 0.0), one.sha1hex))
    return found


def _find_sharing(records: Records, keys: Sequence[int]) -> dict[int, list[str]]:
    """The texts that have these bands, a thousand of each at most."""
    sharing: dict[int, list[str]] = defaultdict(list)
    read = 0
    for row in records.find(TextBandRow, {"band": list(keys)}, count_max=_ROW_BATCH):
        read += 1
        if len(sharing[row.band]) < BAND_MAX:
            sharing[row.band].append(row.sha1hex)
    if read < _ROW_BATCH:
        return sharing
    # A band that very many share is not read to its end.
    for key in keys:
        some = records.find(TextBandRow, {"band": key}, count_max=BAND_MAX)
        sharing[key] = [row.sha1hex for row in some]
    return sharing


def _load_sketches(records: Records, keys: Sequence[str]) -> dict[str, TextSketchRow]:
    return {row.sha1hex: row for row in records.get(TextSketchRow, keys)} if keys else {}


def _build_related(row: TextSketchRow, other: TextSketchRow) -> RelatedFile:
    """How another text stands to this one."""
    both = bool(row.signature and other.signature)
    same = row.text_sha256hex == other.text_sha256hex
    signed = (bytes.fromhex(row.signature), bytes.fromhex(other.signature))
    return RelatedFile(
        sha1hex=other.sha1hex,
        story_id=other.story_id,
        url=other.url,
        captured=other.captured,
        same_text=same,
        resemblance=1.0 if same else round(estimate_resemblance(*signed), 2) if both else None,
    )


EXTRACTOR = "minhash/1"
SUCCESS, TOO_SHORT, PLACEHOLDER = "success", "too-short", "placeholder"
FILES = (PDF, JATS)
"""The kinds whose texts are sketched beside those of stories; each file stands for itself."""


def build_page_sketch(row: StoryMetaRow, text: str) -> TextSketchRow:
    """What is kept of the text of a page."""
    return _build_sketch(row.sha1hex, row.story_id, row.captured, row.updated, row.url, text)


def build_file_sketch(row: DerivativeRow, captured: str, url: str, text: str) -> TextSketchRow:
    """What is kept of the text of a PDF or an article, "" where it has none. `captured` and `url` are those
    of its capture, the time in 14 digits."""
    key = row.sha1hex
    made = _build_sketch(key, key, captured, row.updated, clean_text(url), text)
    if isinstance(row, PdfMetaRow) and is_placeholder(row):
        return replace(made, status=PLACEHOLDER, signature="")
    return made


def _build_sketch(
    sha1hex: str, id_: str, captured: str, updated: datetime, url: str, text: str
) -> TextSketchRow:
    # Most commands know this kind and make none of it; numpy takes a tenth of a second.
    from fonds.text.minhash import compute_signature

    signed = compute_signature(text)
    return TextSketchRow(
        sha1hex=sha1hex,
        story_id=id_,
        captured=captured,
        updated=updated,
        status=SUCCESS if signed else TOO_SHORT,
        url=url,
        text_sha256hex=sha256(encode_text(text)).hexdigest(),
        signature=signed.hex() if signed else "",
        extractor=EXTRACTOR,
    )


def load_text_hashes(records: Records, sha1hexes: Sequence[str]) -> dict[str, str]:
    """SHA-256 in hex of the texts of these files, by SHA-1; absent where no text is kept."""
    return {row.sha1hex: row.text_sha256hex for row in records.get(TextSketchRow, sha1hexes)}


def build_bands(row: TextSketchRow) -> list[TextBandRow]:
    """The bands a row promises."""
    keys = compute_bands(bytes.fromhex(row.signature)) if row.signature else []
    return [TextBandRow(band, row.sha1hex) for band in sorted(set(keys))]


def write_sketches(
    records: Records, rows: Sequence[TextSketchRow], companion_rows: Sequence[Row]
) -> None:
    """Keep these rows with their bands and fixity, and what is given beside them, in one transaction.

    Bands that earlier texts of the same files had are taken away before: what is there of a file is never
    of two texts.
    """
    wanted = [band for row in rows for band in build_bands(row)]
    before = records.get(TextSketchRow, [row.sha1hex for row in rows])
    there = {(one.band, one.sha1hex) for row in before for one in build_bands(row)}
    stale = there - {(one.band, one.sha1hex) for one in wanted}
    if stale:
        records.delete(TextBandRow, sorted(stale))
    records.put([*companion_rows, *rows, *map(build_row_fixity, rows), *wanted])


def rebuild_sketches(records: Records, blobs: Blobs, sha1hexes: Sequence[str]) -> int:
    """Make what is missing or made otherwise, of texts that are there; how many were made."""
    known = {row.sha1hex: row for row in records.get(TextSketchRow, sha1hexes)}
    promised = [band for row in known.values() for band in build_bands(row)]
    keys = [(one.band, one.sha1hex) for one in promised]
    there = {(one.band, one.sha1hex) for one in records.get(TextBandRow, keys)} if keys else set()
    lacking = {sha1hex for band, sha1hex in keys if (band, sha1hex) not in there}
    whole = {key for key, row in known.items() if row.extractor == EXTRACTOR and key not in lacking}
    left = [key for key in sha1hexes if key not in whole]
    made = [
        build_page_sketch(row, decode_blob_text(blob))
        for row in records.get(StoryMetaRow, left)
        if (blob := blobs.get(build_text_blob_key(row.sha1hex))) is not None
    ]
    made += _iter_file_sketches(records, blobs, left)
    if made:
        write_sketches(records, made, ())
    return len(made)


def _iter_file_sketches(
    records: Records, blobs: Blobs, sha1hexes: Sequence[str]
) -> Iterator[TextSketchRow]:
    """The sketches of those that are PDFs or articles, but for those whose text is gone."""
    came = find_owners(records, sha1hexes)
    for kind in FILES:
        for row in records.get(kind.row, sha1hexes):
            key, owner = row.sha1hex, came.get(row.sha1hex)
            blob = blobs.get(build_text_blob_key(key)) if kind.list_blobs(row) else b""
            if blob is not None and owner is not None:
                yield build_file_sketch(row, owner.seen or "", owner.url, decode_blob_text(blob))


def _describe_change(row: TextSketchRow, relatives: FileRelations) -> str:
    """How a version differs from the one captured before it: `first`, `same-text` or `changed-text`."""
    place = (row.captured, row.sha1hex)
    earlier = [one for one in relatives.versions if (one.captured, one.sha1hex) < place]
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
        "near_duplicates": [one.sha1hex for one in relatives.near_duplicates] or None,
        "near_duplicate_count": relatives.near_duplicates_total,
    }


KIND = DerivativeKind(
    name="sketch",
    title="text sketch",
    mimetypes=(*PAGE_TYPES, *(one for kind in FILES for one in kind.mimetypes)),
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
