"""The whole state of a home as plain values, without what differs from run to run by nature: times,
where in our own WARC files a record came to lie, and the id it has there."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from hashlib import sha1
from pathlib import Path
from typing import Any

from fonds.archive.warc.scanner import Damage, read_heads
from fonds.config import Settings, load_settings
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import PermanentError
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.ports import Stores
from fonds.wiring.stores import close_stores, list_readers, open_stores

TIMES = {"row_created", "updated", "settled_at", "promised_at", "entered_at"}
OURS = "fonds-"


def state(home: Path, **flags: str) -> dict[str, Any]:
    """Everything that must be equal after an undisturbed and a disturbed run of the same input, and on
    whatever stores; `flags` are settings."""
    settings = load_settings(home).replace_values(**flags)
    stores = open_stores(home, settings)
    try:
        return _state(home, stores, settings)
    finally:
        close_stores(stores)


def _state(home: Path, stores: Stores, settings: Settings) -> dict[str, Any]:
    files = [row.sha1hex for row in stores.records.find(FileMetaRow)]
    keys = [
        key for file in files for key in (build_text_blob_key(file), build_thumbnail_blob_key(file))
    ]
    documents: dict[str, Any] = {}
    stories = [row.story_id for row in stores.records.find(StoryMetaRow)]
    ids = sorted({*files, *stories})
    for start in range(0, len(ids), 200):
        documents |= stores.index.get(ids[start : start + 200])
    return {
        "outcomes": {
            (row.entry_id, row.pipeline): (row.outcome, row.reason, row.about)
            for row in stores.records.find(EntryRow)
        },
        "steps": stores.records.count(DispositionRow, ("step", "verdict", "reason")),
        "files": [_plain(row) for row in stores.records.find(FileMetaRow)],
        "pdfs": [_plain(row) for row in stores.records.find(PdfMetaRow)],
        "stories": [_story(row) for row in stores.records.find(StoryMetaRow)],
        "captures": sorted(json.dumps(_capture(row)) for row in stores.records.find(CdxRow)),
        "documents": {key: _document(document) for key, document in documents.items()},
        "indexed": stores.index.count(),
        "table": _table(stores),
        "blobs": {
            key: sha1(stores.blobs.get(key)).hexdigest()
            for key in stores.blobs.filter_existing(keys)
        },
        "strays": _strays(home / "blobs", keys),
        "archive": _archive(home),
        "left": {
            reader.name: stores.queue.get_depth(reader).pending for reader in list_readers(settings)
        },
    }


def brought_by_several(found: dict[str, Any]) -> set[str]:
    """The files that more than one capture of a state is about."""
    met = Counter(about for _, _, about in found["outcomes"].values() if about)
    return {about for about, count in met.items() if count > 1}


def up_to_owners(found: dict[str, Any]) -> dict[str, Any]:
    """A state without what depends on the order captures came in: which of several owns a file, and with it
    the address its derivatives go by (docs/decisions, "Which capture owns a file"), and whether a later one
    stated more than those before it."""
    several = brought_by_several(found)

    def rows(part: str) -> list[Any]:
        return [row["sha1hex"] if row["sha1hex"] in several else row for row in found[part]]

    def named(entry: tuple[str, str], about: str | None) -> tuple[str | None, str]:
        return (about if about in several else entry[0], entry[1])

    documents = found["documents"].values()
    return found | {
        "steps": {key: count for key, count in found["steps"].items() if key[0] != "index_rights"},
        "outcomes": Counter(
            (*named(entry, about), outcome, reason)
            for entry, (outcome, reason, about) in found["outcomes"].items()
        ),
        "files": rows("files"),
        "pdfs": rows("pdfs"),
        "stories": rows("stories"),
        "captures": sorted(_whichever(json.loads(row), several) for row in found["captures"]),
        "documents": {
            document["sha1hex"]: document if document["sha1hex"] not in several else None
            for document in documents
        },
        "table": Counter(
            key[:20].hex() if key[:20].hex() in several else f"{key!r} {cells!r}"
            for key, cells in found["table"].items()
        ),
        "archive": Counter((kind, digest) for kind, _, digest in found["archive"].elements()),
    }


def _whichever(capture: dict[str, Any], several: set[str]) -> str:
    """A capture; of a file that several brought, without where it lies: one may stand in two WARCs."""
    kept = {"sha1hex", "url", "datetime"} if capture["sha1hex"] in several else capture.keys()
    return json.dumps({name: value for name, value in capture.items() if name in kept})


def _strays(folder: Path, keys: list[str]) -> list[str]:
    """Blobs in a folder that belong to no file: none, also none of messages that were settled."""
    there = [path for path in folder.rglob("*") if path.is_file() and ".parts" not in path.parts]
    return sorted({path.relative_to(folder).as_posix() for path in there} - set(keys))


def _plain(row: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in TIMES}


def _story(row: StoryMetaRow) -> dict[str, Any]:
    plain = _plain(row)
    plain["story"]["content_metadata"].pop("parsed_date", None)
    if str(plain["story"].get("rss_entry", {}).get("via", "")).startswith(OURS):
        plain["story"]["rss_entry"]["via"] = "ours"
    return plain


def _capture(row: CdxRow) -> dict[str, Any]:
    plain = _plain(row)
    if row.warc_path.startswith(OURS):
        plain |= {"warc_path": "ours", "warc_offset": 0, "warc_csize": 0}
    return plain


def _document(document: Any) -> dict[str, Any]:
    plain = asdict(document)
    plain.pop("indexed_date")
    return plain


def _table(stores: Stores) -> dict[bytes, dict[str, Any]]:
    rows: dict[bytes, dict[str, Any]] = {}
    after = None
    while page := stores.table.scan(stores.journal, after=after, count_max=500):
        for key, cells in page:
            rows[key] = {name: _cell(stores, value) for name, value in cells.items()}
        after = page[-1][0]
    return rows


def _cell(stores: Stores, value: bytes) -> Any:
    try:
        found = json.loads(value)
    except ValueError:
        return value
    if isinstance(found, dict):
        if "i" in found and str(found.get("f", "")).startswith(OURS):
            found["i"] = _whose(stores, found)
        for path, offset in (("warc", "offset"), ("f", "o")):
            if str(found.get(path, "")).startswith(OURS):
                found |= {path: "ours", offset: 0, "c_size": 0}
    return found


def _whose(stores: Stores, seen: dict[str, Any]) -> str:
    """Whether the id in an `f:c` is that of the record of ours it leads to: ids are chance, this is not."""
    try:
        payload = stores.archive.read(Place(PlaceKind.WARC, seen["f"], seen["o"]))
    except PermanentError as error:
        return f"of a record that cannot be read: {error.reason}"
    own = payload.warc_headers["WARC-Record-ID"] == f"<{seen['i']}>"
    return "its record's" if own else "another record's"


def _archive(home: Path) -> Counter[tuple[str, str | None, str | None]]:
    """How often each record stands in our WARC files; every kept body once."""
    found: Counter[tuple[str, str | None, str | None]] = Counter()
    for path in sorted((home / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for head in read_heads(stream):
                if isinstance(head, Damage):
                    found["damage", None, None] += 1
                elif head.type != "warcinfo":
                    found[
                        head.type, head.url, head.digest if head.type != "metadata" else None
                    ] += 1
    return found
