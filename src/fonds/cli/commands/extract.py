"""`fonds extract`: what would be learned from files, as JSON lines; stores nothing."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import msgspec

from fonds.cli.context import App, command, echo_json
from fonds.cli.inbox import expand_paths
from fonds.formats.envelope import story_to_json
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition, Verdict, Weight, dropped, quarantined
from fonds.model.entry import Entry
from fonds.model.errors import PermanentError
from fonds.model.file import Identified, Kind, Unextracted, Unparsed
from fonds.model.pdf import PdfText
from fonds.model.step import Result
from fonds.model.story import Parsed
from fonds.ports import Source

Step = Callable[[Any], Result]


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

    Each object has `path sha1hex kind status reason detail url`, and `pdf` or `story` with the whole
    record. Exit code 1 when something could not be read.

    \b
    fonds extract paper.pdf
    fonds extract crawl.warc.gz | jq -r 'select(.kind == "story") | .story.content_metadata.article_title'
    """
    from fonds.wiring.backends import open_archive
    from fonds.wiring.pipelines import path_source
    from fonds.wiring.readers import cores, open_readers
    from fonds.wiring.steps import reading_steps

    settings = app.settings(**flags)
    failed = False
    with tempfile.TemporaryDirectory(prefix="fonds-extract-") as scratch:
        home = Path(scratch)
        source = path_source(expand_paths(paths, home), home, settings)
        readers = open_readers(home / "tmp", settings)
        try:
            steps = reading_steps(open_archive(home, settings), readers, settings)
            for line in _in_order(source, steps, settings.work.children or cores()):
                failed = failed or line["status"] == Verdict.QUARANTINED
                echo_json(line)
        finally:
            readers.close()
    return 1 if failed else 0


def _in_order(source: Source, steps: Mapping[str, Step], workers: int) -> Iterator[dict[str, Any]]:
    """The lines of all captures in the order found, several being read at once, few held in memory."""
    waiting: deque[Future[dict[str, Any]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for row in source.inputs():
            for found in source.entries(row):
                if isinstance(found, Entry) and isinstance(found.item, Capture):
                    waiting.append(pool.submit(_line, found.item, steps))
                if len(waiting) > 4 * workers:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _line(capture: Capture, steps: Mapping[str, Step]) -> dict[str, Any]:
    identified = _carry_out(steps["identify"], capture)
    one = next((item for item in identified.items if isinstance(item, Identified)), None)
    if one is None or one.file is None:
        return _report(capture, one, identified.disposition, {})
    work: object = Unextracted(capture, one.file)
    name = "extract_pdf"
    if one.file.kind is Kind.STORY:
        work, name = Unparsed(capture, one.file, one.charset), "parse_story"
    result = _carry_out(steps[name], work)
    return _report(capture, one, result.disposition, _learned(result))


def _carry_out(step: Step, item: object) -> Result:
    try:
        return step(item)
    except PermanentError as error:
        ended = quarantined if error.reason.weight is Weight.FAILED else dropped
        return Result(ended(error.reason, error.detail))


def _learned(result: Result) -> dict[str, Any]:
    for item in result.items:
        if isinstance(item, PdfText):
            return {"pdf": msgspec.to_builtins(item)}
        if isinstance(item, Parsed):
            story = story_to_json(item.story, html=True)
            return {"story": story | {"story_id": item.story_id, "extractor": item.extractor}}
    return {}


def _report(
    capture: Capture, one: Identified | None, ended: Disposition, learned: dict[str, Any]
) -> dict[str, Any]:
    file = one.file if one else None
    return {
        "path": str(capture.place),
        "sha1hex": file.sha1 if file else None,
        "kind": file.kind if file else None,
        "status": ended.verdict,
        "reason": ended.reason,
        "detail": ended.detail,
        "url": capture.url,
        **learned,
    }
