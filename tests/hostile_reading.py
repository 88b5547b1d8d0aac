"""Read hostile PDFs with isolated readers as `extract_pdf` does, and measure time and memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import md5, sha1, sha256
from pathlib import Path

from fonds.config import Settings
from fonds.derivatives.pdf import find_no_ending
from fonds.ingest.steps.extract_pdf import ExtractPdfStep
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.pdf import PdfText
from fonds.wiring.archive import open_archive
from fonds.wiring.readers import SALVAGE_S, Readers, open_readers
from fonds.wiring.steps import pass_known_work

CHILDREN = 2
FONDS_BYTES = 130 * 2**20
_SAMPLING_INTERVAL_S = 0.02
_KIB = 1024
_MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one file; `took_s` is the wall time from its start to its result."""

    name: str
    text: PdfText
    took_s: float


class MemoryWatch:
    """Peak resident memory of this process and its descendants, read from /proc.

    Only growth over the start counts, plus the memory of Fonds at its start: in a run of all tests,
    this process and preloaded processes hold much more.

    Pages shared by several processes count for each of them, so the value is an upper bound. Peaks
    shorter than the sampling interval of 20 ms may be missed.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        resident_bytes = sum(map(_resident_bytes, _iter_process_tree(os.getpid())))
        self._others_bytes = max(0, resident_bytes - FONDS_BYTES)
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_event.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop_event.wait(_SAMPLING_INTERVAL_S):
            total = sum(map(_resident_bytes, _iter_process_tree(os.getpid())))
            self.peak_bytes = max(self.peak_bytes, total - self._others_bytes)


@contextmanager
def open_pdf_readers(spool: Path, settings: Settings) -> Iterator[Readers]:
    """Open the readers as every command does."""
    readers = open_readers(spool, settings)
    try:
        yield readers
    finally:
        readers.close()


def read_all(readers: Readers, files: Iterable[tuple[str, bytes]], folder: Path) -> list[Outcome]:
    """Read each file with the step `extract_pdf`, as many at once as there are children.

    The files are written to `folder` first.
    """
    bodies = dict(files)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{number}.pdf" for number, name in enumerate(bodies)}
    for name, path in paths.items():
        path.write_bytes(bodies[name])
    archive = open_archive(folder, Settings())
    step = ExtractPdfStep(
        archive,
        readers.extract,
        readers.salvage,
        readers.pdf_extractor,
        find_no_ending,
        pass_known_work,
    )

    def read(name: str) -> Outcome:
        item = UnextractedPdf(_capture(name, paths[name]), _describe_file(bodies[name]))
        started_s = time.monotonic()
        texts = [
            result_item for result_item in step(item).items if isinstance(result_item, PdfText)
        ]
        took_s = time.monotonic() - started_s
        if len(texts) != 1:
            raise AssertionError(f"{name} has {len(texts)} texts")
        return Outcome(name, texts[0], took_s)

    with ThreadPoolExecutor(CHILDREN) as threads:
        return list(threads.map(read, bodies))


def longest_s(settings: Settings) -> float:
    """Return the time limit of one file: the full extraction, then the short salvage."""
    return settings.pdf.timeout_s + min(SALVAGE_S, settings.pdf.timeout_s)


def _capture(name: str, path: Path) -> Capture:
    return Capture(
        name, "hostile", Place(PlaceKind.FILE, str(path)), path.as_uri(), _MOMENT, "file"
    )


def _describe_file(body: bytes) -> FileMeta:
    hashes = {
        hash_function.__name__.removeprefix("openssl_"): hash_function(body).hexdigest()
        for hash_function in _HASHES
    }
    mime = "application/pdf"
    return FileMeta(size=len(body), mime=mime, magic="PDF", magic_mime=mime, **hashes)


_HASHES = (md5, sha1, sha256)


def _iter_process_tree(pid: int) -> Iterator[int]:
    """Iterate over a process and its descendants; skip those that end meanwhile."""
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for task in tasks:
        try:
            kids = (task / "children").read_text().split()
        except OSError:
            continue
        for kid in kids:
            yield from _iter_process_tree(int(kid))


def _resident_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    resident = next((line for line in status.splitlines() if line.startswith("VmRSS:")), None)
    return int(resident.split()[1]) * _KIB if resident else 0
