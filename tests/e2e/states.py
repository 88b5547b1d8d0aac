"""The state of a home as plain values, without values that differ between runs.

These are times, places in the WARC files of the archive, and record ids.
"""

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
from fonds.stores.local_blobs import FILE_NAME
from fonds.wiring.flavours import list_readers
from fonds.wiring.stores import close_stores, open_stores
from home_texts import list_text_keys

TIME_FIELDS = {"row_created", "updated", "settled_at", "promised_at", "entered_at"}
ARCHIVE_PREFIX = "fonds-"


def state(home: Path, **flags: str) -> dict[str, Any]:
    """Return everything that must be equal after an undisturbed and a disturbed run.

    It must also be equal on any stores. `flags` are settings.
    """
    settings = load_settings(home).replace_values(**flags)
    stores = open_stores(home, settings)
    try:
        return _read_state(home, stores, settings)
    finally:
        close_stores(stores)


def _read_state(home: Path, stores: Stores, settings: Settings) -> dict[str, Any]:
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
        "files": [_to_plain(row) for row in stores.records.find(FileMetaRow)],
        "pdfs": [_to_plain(row) for row in stores.records.find(PdfMetaRow)],
        "stories": [_to_plain_story(row) for row in stores.records.find(StoryMetaRow)],
        "captures": sorted(
            json.dumps(_to_plain_capture(row)) for row in stores.records.find(CdxRow)
        ),
        "documents": {key: _to_plain_document(document) for key, document in documents.items()},
        "indexed": stores.index.count(),
        "table": _read_table(stores),
        "blobs": {
            key: sha1(stores.blobs.get(key)).hexdigest()
            for key in stores.blobs.filter_existing(keys)
        },
        "strays": _list_strays(home / "blobs", keys),
        "archive": _count_records(home),
        "left": {
            reader.name: stores.queue.get_depth(reader).pending for reader in list_readers(settings)
        },
    }


def list_shared_files(full_state: dict[str, Any]) -> set[str]:
    """Return the files that have more than one capture."""
    capture_counts = Counter(about for _, _, about in full_state["outcomes"].values() if about)
    return {about for about, count in capture_counts.items() if count > 1}


def ignore_owners(full_state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without what depends on the order of captures.

    This is which capture owns a file, and so the URL of its derivatives (docs/decisions, "Which
    capture owns a file"), and whether a later capture stated more than earlier ones.
    """
    shared_files = list_shared_files(full_state)

    def replace_shared_rows(part: str) -> list[Any]:
        return [
            row["sha1hex"] if row["sha1hex"] in shared_files else row for row in full_state[part]
        ]

    def get_entry_key(entry: tuple[str, str], about: str | None) -> tuple[str | None, str]:
        return (about if about in shared_files else entry[0], entry[1])

    documents = full_state["documents"].values()
    return full_state | {
        "steps": {
            key: count for key, count in full_state["steps"].items() if key[0] != "index_rights"
        },
        "outcomes": Counter(
            (*get_entry_key(entry, about), outcome, reason)
            for entry, (outcome, reason, about) in full_state["outcomes"].items()
        ),
        "files": replace_shared_rows("files"),
        "pdfs": replace_shared_rows("pdfs"),
        "stories": replace_shared_rows("stories"),
        "captures": sorted(
            _encode_capture(json.loads(row), shared_files) for row in full_state["captures"]
        ),
        "documents": {
            document["sha1hex"]: document if document["sha1hex"] not in shared_files else None
            for document in documents
        },
        "table": Counter(
            key[:20].hex() if key[:20].hex() in shared_files else f"{key!r} {cells!r}"
            for key, cells in full_state["table"].items()
        ),
        "archive": Counter((kind, digest) for kind, _, digest in full_state["archive"].elements()),
    }


def _encode_capture(capture: dict[str, Any], shared_files: set[str]) -> str:
    """Encode a capture, without its place if its file has several: it may be in two WARCs."""
    kept_fields = (
        {"sha1hex", "url", "datetime"} if capture["sha1hex"] in shared_files else capture.keys()
    )
    return json.dumps({name: value for name, value in capture.items() if name in kept_fields})


def _list_strays(folder: Path, keys: list[str]) -> list[str]:
    """List blobs that belong to no file, including blobs of processed messages."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".parts" not in path.parts]
    names = {path.relative_to(folder).as_posix() for path in paths if FILE_NAME not in path.name}
    texts = list_text_keys(folder.parent) if (folder / FILE_NAME).exists() else []
    return sorted(names.union(texts) - set(keys))


def _to_plain(row: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in TIME_FIELDS}


def _to_plain_story(row: StoryMetaRow) -> dict[str, Any]:
    plain = _to_plain(row)
    plain["story"]["content_metadata"].pop("parsed_date", None)
    if str(plain["story"].get("rss_entry", {}).get("via", "")).startswith(ARCHIVE_PREFIX):
        plain["story"]["rss_entry"]["via"] = "ours"
    return plain


def _to_plain_capture(row: CdxRow) -> dict[str, Any]:
    plain = _to_plain(row)
    if row.warc_path.startswith(ARCHIVE_PREFIX):
        plain |= {"warc_path": "ours", "warc_offset": 0, "warc_csize": 0}
    return plain


def _to_plain_document(document: Any) -> dict[str, Any]:
    plain = asdict(document)
    plain.pop("indexed_date")
    return plain


def _read_table(stores: Stores) -> dict[bytes, dict[str, Any]]:
    rows: dict[bytes, dict[str, Any]] = {}
    last_key = None
    while page := stores.table.scan(stores.journal, after=last_key, count_max=500):
        for key, cells in page:
            rows[key] = {name: _decode_cell(stores, value) for name, value in cells.items()}
        last_key = page[-1][0]
    return rows


def _decode_cell(stores: Stores, value: bytes) -> Any:
    try:
        content = json.loads(value)
    except ValueError:
        return value
    if isinstance(content, dict):
        if "i" in content and str(content.get("f", "")).startswith(ARCHIVE_PREFIX):
            content["i"] = _check_record_id(stores, content)
        for path, offset in (("warc", "offset"), ("f", "o")):
            if str(content.get(path, "")).startswith(ARCHIVE_PREFIX):
                content |= {path: "ours", offset: 0, "c_size": 0}
    return content


def _check_record_id(stores: Stores, content: dict[str, Any]) -> str:
    """Describe whether the record id in an `f:c` is that of its record; ids are random."""
    try:
        payload = stores.archive.read(Place(PlaceKind.WARC, content["f"], content["o"]))
    except PermanentError as error:
        return f"of a record that cannot be read: {error.reason}"
    is_own = payload.warc_headers["WARC-Record-ID"] == f"<{content['i']}>"
    return "its record's" if is_own else "another record's"


def _count_records(home: Path) -> Counter[tuple[str, str | None, str | None]]:
    """Count each record in the WARC files of the archive; every stored body occurs once."""
    record_counts: Counter[tuple[str, str | None, str | None]] = Counter()
    for path in sorted((home / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for head in read_heads(stream):
                if isinstance(head, Damage):
                    record_counts["damage", None, None] += 1
                elif head.type != "warcinfo":
                    record_counts[
                        head.type, head.url, head.digest if head.type != "metadata" else None
                    ] += 1
    return record_counts
