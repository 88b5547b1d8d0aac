"""Files that are added to a filled home and then hidden; their words occur in no other file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha1
from pathlib import Path

from filled_home import FilledHome
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from fonds.config import Settings
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.model.capture import format_datetime14
from fonds.model.keys import build_text_blob_key, encode_sha1_base32
from fonds.model.rows import StoryMetaRow
from fonds.ports import Stores
from home_rows import NOW
from ingesting import ingest, stamp
from story_pages import page_markup
from themed_home import LIBRARY

TITLE = "Zyzzogeton and the quorbatrix"
SITE = "zyzzo.example"
URL = f"http://{SITE}/quorbatrix.pdf"
MIRRORED = "http://mirror.example/zyzzogeton-again"
BROKEN = "http://broken.example/zyzzogeton-broken.pdf"
RIGHTS = "(c) Vexillarious Press, quorbatrix licence"
SIGNALS = (("X-Robots-Tag", "no-vexillarious"), ("Link", f"<http://{SITE}/terms>; rel=license"))
WORDS = ("zyzzogeton", "quorbatrix", "vexillarious")
LINES = (f"{TITLE}.", "Flood waters and a council vote.", *["Zyzzogeton quorbatrix."] * 30)
PAPER = text_pdf(("\n".join(LINES),), info={"Title": TITLE, "Copyright": RIGHTS})
BROKEN_PAPER = b"%PDF-1.7 zyzzogeton broken"


@dataclass(frozen=True, slots=True)
class HiddenFiles:
    """SHA-1s of the added files, and other values that identify them."""

    pdf: str
    version: str
    earlier: str
    broken: str
    story_url: str
    captured: str

    @property
    def files(self) -> tuple[str, ...]:
        """SHA-1s of all added files."""
        return (self.pdf, self.version, self.earlier, self.broken)

    @property
    def marks(self) -> tuple[str, ...]:
        """Strings that no response may contain, in any case."""
        hashes = [encode_sha1_base32(bytes.fromhex(file)) for file in self.files]
        return (*WORDS, SITE, *self.files, *hashes, *(file[:8] for file in self.files))


def add_hidden(
    stores: Stores, home: Path, settings: Settings, filled: FilledHome, writer: CollectionWriter
) -> HiddenFiles:
    """Add the files that are to be hidden.

    They are a PDF in a collection that was captured twice, a later and an earlier version of a
    visible story, and a PDF that fails. Their inputs contain nothing else.
    """
    story_row = stores.records.get(StoryMetaRow, [filled.stories[1]])[0]
    version = _build_version(stores, story_row)
    earlier_version = version.replace(b"waters", b"waves")
    day = timedelta(days=1)
    papers = [_build_paper_response(URL, PAPER), _build_paper_response(MIRRORED, PAPER)]
    pages = [
        _build_page_response(story_row.url, NOW + day, version),
        _build_page_response(story_row.url, NOW - day, earlier_version),
    ]
    copying_settings = settings.replace_values(warc_copy_bodies=True)
    failed_warc = _write_warc(
        home / f"{WORDS[0]}.warc.gz", [_build_paper_response(BROKEN, BROKEN_PAPER)]
    )
    papers_warc = _write_warc(home / f"{WORDS[1]}.warc.gz", papers)
    ingest(
        stores,
        home,
        [papers_warc, failed_warc],
        copying_settings.replace_values(collection="reports"),
    )
    ingest(stores, home, [_write_warc(home / f"{WORDS[2]}.warc.gz", pages)], copying_settings)
    hashes = [sha1(body).hexdigest() for body in (PAPER, version, earlier_version, BROKEN_PAPER)]
    text = (stores.blobs.get(build_text_blob_key(hashes[0])) or b"").decode()
    writer.put(LIBRARY, [Document(hashes[0], text, TITLE, URL, "en")])
    return HiddenFiles(*hashes, story_row.url, format_datetime14(NOW))


def _build_version(stores: Stores, story_row: StoryMetaRow) -> bytes:
    """Build the page of a story with more text and its own title and rights."""
    text = (stores.blobs.get(build_text_blob_key(story_row.sha1hex)) or b"").decode()
    longer_text = f"{text}\nVexillarious waters."
    page = page_markup("Vexillarious waters", longer_text, (), story_row.publication_date, "en")
    return page.replace(b"<title>", f'<meta name="copyright" content="{RIGHTS}"><title>'.encode())


def _build_paper_response(url: str, body: bytes) -> bytes:
    headers = (("Content-Type", "application/pdf"), *SIGNALS)
    return http_response(body, url=url, date=stamp(NOW), headers=headers)


def _build_page_response(url: str, at: datetime, body: bytes) -> bytes:
    headers = (("Content-Type", "text/html; charset=utf-8"), *SIGNALS)
    return http_response(body, url=url, date=stamp(at), headers=headers)


def _write_warc(path: Path, records: Sequence[bytes]) -> Path:
    path.write_bytes(gzip_records(records))
    return path
