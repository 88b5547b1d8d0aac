"""`fonds extract`: what would be learned from files, as JSON lines; stores nothing."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha1
from pathlib import Path
from typing import Any

import click
import msgspec

from fonds.bulk.extraction.articles import ArticleRead
from fonds.bulk.extraction.carrying import Made, Step, identify, learn
from fonds.bulk.extraction.found import Found
from fonds.cli.context import App, command, echo_json
from fonds.cli.inbox import check_warc_base, expand_names
from fonds.formats.envelope import story_to_json
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Verdict
from fonds.model.entry import Entry
from fonds.model.errors import FondsError
from fonds.model.pdf import PdfText
from fonds.model.story import Parsed
from fonds.ports import Archive, Source


@command("extract")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--warc-base", metavar="DIR|URL", help="Where the WARCs named by a CDX are.")
@click.option(
    "--follow",
    "follow_links",
    is_flag=True,
    default=None,
    help="Follow links that lead out of the folders named here, and note each.",
)
def extract(app: App, paths: tuple[str, ...], **flags: Any) -> int:
    """Say what would be learned from these files, one JSON object a body; stores nothing.

    Each object has `path sha1hex kind status reason detail url`, and `pdf`, `story` or `article` with the
    whole record. Exit code 1 when something could not be read.

    \b
    fonds extract paper.pdf
    fonds extract crawl.warc.gz | jq -r 'select(.kind == "story") | .story.content_metadata.article_title'
    """
    from fonds.wiring.backends import open_archive
    from fonds.wiring.pipelines import named_source
    from fonds.wiring.readers import cores, open_readers
    from fonds.wiring.steps import reading_steps

    check_warc_base(flags["warc_base"])
    settings = app.settings(**flags)
    failed = False
    with tempfile.TemporaryDirectory(prefix="fonds-extract-") as scratch:
        home = Path(scratch)
        source = named_source(expand_names(paths, home), home, settings)
        readers = open_readers(home / "tmp", settings)
        try:
            archive = open_archive(home, settings)
            steps = reading_steps(archive, readers, settings)
            for line in _in_order(source, archive, steps, settings.work.children or cores()):
                failed = failed or line["status"] == Verdict.QUARANTINED
                echo_json(line)
        finally:
            readers.close()
    return 1 if failed else 0


def _in_order(
    source: Source, archive: Archive, steps: Mapping[str, Step], workers: int
) -> Iterator[dict[str, Any]]:
    """The lines of all captures in the order found, several being read at once, few held in memory."""
    waiting: deque[Future[dict[str, Any]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for row in source.inputs():
            for found in source.entries(row):
                if isinstance(found, Entry) and isinstance(found.item, Capture):
                    waiting.append(pool.submit(_line, found.item, archive, steps))
                if len(waiting) > 4 * workers:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _line(capture: Capture, archive: Archive, steps: Mapping[str, Step]) -> dict[str, Any]:
    found = identify(steps, capture)
    if found.file is None:
        return _report(found, found.ended, {"sha1hex": _sha1hex(archive, capture)})
    if found.ended != DONE:
        return _report(found, found.ended, {})
    learned = learn(steps, found, found.file)
    return _report(found, learned.ended, _learned(learned.made))


def _sha1hex(archive: Archive, capture: Capture) -> str | None:
    """The SHA-1 of a body that is no file to Fonds; None for one without bytes, or that cannot be read."""
    try:
        body = archive.read(capture.place).body
    except FondsError:
        return None
    return sha1(body, usedforsecurity=False).hexdigest() if body else None


def _learned(made: Made | None) -> dict[str, Any]:
    match made:
        case PdfText():
            return {"pdf": msgspec.to_builtins(made)}
        case Parsed():
            story = story_to_json(made.story, html=True)
            return {"story": story | {"story_id": made.story_id, "extractor": made.extractor}}
        case ArticleRead():
            kept = made.reading.kept
            told = msgspec.json.decode(kept.whole) if kept.whole else {"error": kept.error}
            return {"article": told}
    return {}


def _report(found: Found, ended: Disposition, learned: dict[str, Any]) -> dict[str, Any]:
    file = found.file
    return {
        "path": str(found.capture.place),
        "sha1hex": file.sha1 if file else None,
        "kind": file.kind if file else None,
        "status": ended.verdict,
        "reason": ended.reason,
        "detail": ended.detail,
        "url": found.capture.url,
        **learned,
    }
