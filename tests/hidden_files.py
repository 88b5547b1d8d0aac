"""Files that are to be hidden, brought into a filled home: each says words that nothing else there says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha1
from pathlib import Path

from filled_home import Filled
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
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
class Hidden:
    """What was put there: the files, and every text that tells of them."""

    pdf: str
    version: str
    earlier: str
    broken: str
    story_url: str
    captured: str

    @property
    def files(self) -> tuple[str, ...]:
        """Their SHA-1s."""
        return (self.pdf, self.version, self.earlier, self.broken)

    @property
    def marks(self) -> tuple[str, ...]:
        """No answer may say any of these, in whatever case."""
        hashes = [encode_sha1_base32(bytes.fromhex(file)) for file in self.files]
        return (*WORDS, SITE, *self.files, *hashes, *(file[:8] for file in self.files))


def add_hidden(
    stores: Stores, home: Path, settings: Settings, filled: Filled, changes: CollectionWriter
) -> Hidden:
    """A PDF that lies in a collection and was captured twice, a later and an earlier version of a story that
    is shown, and a PDF that failed. Their inputs brought nothing else."""
    before = stores.records.get(StoryMetaRow, [filled.stories[1]])[0]
    version = _version(stores, before)
    earlier = version.replace(b"waters", b"waves")
    day = timedelta(days=1)
    papers = [_paper(URL, PAPER), _paper(MIRRORED, PAPER)]
    pages = [_page(before.url, NOW + day, version), _page(before.url, NOW - day, earlier)]
    copied = settings.replace_values(warc_copy_bodies=True)
    failed = _written(home / f"{WORDS[0]}.warc.gz", [_paper(BROKEN, BROKEN_PAPER)])
    told = _written(home / f"{WORDS[1]}.warc.gz", papers)
    ingest(stores, home, [told, failed], copied.replace_values(collection="reports"))
    ingest(stores, home, [_written(home / f"{WORDS[2]}.warc.gz", pages)], copied)
    hashes = [sha1(one).hexdigest() for one in (PAPER, version, earlier, BROKEN_PAPER)]
    text = (stores.blobs.get(build_text_blob_key(hashes[0])) or b"").decode()
    changes.put(LIBRARY, [Document(hashes[0], text, TITLE, URL, "en")])
    return Hidden(*hashes, before.url, format_datetime14(NOW))


def _version(stores: Stores, before: StoryMetaRow) -> bytes:
    """The page of a story with more text, and with a title and rights of its own."""
    text = (stores.blobs.get(build_text_blob_key(before.sha1hex)) or b"").decode()
    more = f"{text}\nVexillarious waters."
    page = page_markup("Vexillarious waters", more, (), before.publication_date, "en")
    return page.replace(b"<title>", f'<meta name="copyright" content="{RIGHTS}"><title>'.encode())


def _paper(url: str, body: bytes) -> bytes:
    headers = (("Content-Type", "application/pdf"), *SIGNALS)
    return http_response(body, url=url, date=stamp(NOW), headers=headers)


def _page(url: str, at: datetime, body: bytes) -> bytes:
    headers = (("Content-Type", "text/html; charset=utf-8"), *SIGNALS)
    return http_response(body, url=url, date=stamp(at), headers=headers)


def _written(path: Path, records: Sequence[bytes]) -> Path:
    path.write_bytes(gzipped(records))
    return path
