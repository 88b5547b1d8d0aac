"""`fonds extract`: print what Fonds extracts from files as JSON lines, without storing anything."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha1
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta

from fonds.cli.context import App, command, echo_json
from fonds.cli.inputs import check_warc_base, expand_names
from fonds.ingest.bulk.record_reading import (
    RecordState,
    StepFunction,
    StepOutput,
    identify,
    read_body,
)
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, Verdict
from fonds.model.entry import Entry
from fonds.model.errors import FondsError
from fonds.model.file import Kind
from fonds.model.pdf import PdfText
from fonds.model.story import ParsedPage
from fonds.model.story_json import encode_story
from fonds.papers.article_result import ArticleResult
from fonds.ports import Archive, Source


class ExtractedBody(msgspec.Struct, frozen=True, kw_only=True):
    """JSON answer: what was extracted from one body (a PDF, page or article)."""

    path: Annotated[
        str, Meta(description="location of the body: path and offset, or member of a ZIP")
    ]
    sha1hex: Annotated[str | None, Meta(description="SHA-1 of the body; null without a body")]
    kind: Annotated[
        Kind | None,
        Meta(description="pdf, story, jats or unread; null if Fonds does not store the type"),
    ]
    status: Annotated[Verdict, Meta(description="done, dropped or quarantined")]
    reason: Annotated[Reason | None, Meta(description="reason of the status; see docs/reasons.md")]
    detail: Annotated[str, Meta(description="details of the reason")]
    url: Annotated[str, Meta(description="URL of the capture")]
    pdf: Annotated[PdfText | msgspec.UnsetType, Meta(description="record of a PDF")] = msgspec.UNSET
    story: Annotated[
        Mapping[str, object] | msgspec.UnsetType,
        Meta(description="record of a story, with story_id and extractor"),
    ] = msgspec.UNSET
    article: Annotated[
        Mapping[str, object] | msgspec.UnsetType,
        Meta(description="record of a JATS article, or its error"),
    ] = msgspec.UNSET


@command("extract", answers={"one for each body, in input order": ExtractedBody})
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--warc-base", metavar="DIR|URL", help="Folder of the WARCs named by a CDX.")
@click.option(
    "--follow",
    "follow_links",
    is_flag=True,
    default=None,
    help="Follow links out of the given folders, and record each.",
)
def extract(app: App, paths: tuple[str, ...], **flags: Any) -> int:
    """Extract files and print one JSON object per body. Nothing is stored.

    Each object has `path sha1hex kind status reason detail url`, and `pdf`, `story` or `article`
    with the whole record. The exit code is 1 if something could not be read.

    \b fonds extract paper.pdf fonds extract crawl.warc.gz | jq -r 'select(.kind == "story") |
    .story.content_metadata.article_title'
    """
    # Imported here because the pipelines, the readers, the steps and the stores are slow to import.
    from fonds.wiring.archive import open_archive
    from fonds.wiring.pipelines import create_named_source
    from fonds.wiring.readers import count_cores, open_readers
    from fonds.wiring.steps import build_reading_steps

    check_warc_base(flags["warc_base"])
    settings = app.load_settings(**flags)
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="fonds-extract-") as scratch:
        home = Path(scratch)
        source = create_named_source(expand_names(paths, home), home, settings)
        readers = open_readers(home / "tmp", settings)
        try:
            archive = open_archive(home, settings)
            steps = build_reading_steps(archive, readers, settings)
            for line in _iter_ordered(
                source, archive, steps, settings.work.children or count_cores()
            ):
                has_failed = has_failed or line.status == Verdict.QUARANTINED
                echo_json(line)
        finally:
            readers.close()
    return 1 if has_failed else 0


def _iter_ordered(
    source: Source, archive: Archive, steps: Mapping[str, StepFunction], workers: int
) -> Iterator[ExtractedBody]:
    """Yield what was extracted from each capture, in the order of the captures in the input.

    Several captures are read concurrently. At most about four results per worker wait in memory.
    """
    waiting_bodies: deque[Future[ExtractedBody]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for row in source.iter_inputs():
            for entry in source.iter_entries(row):
                if isinstance(entry, Entry) and isinstance(entry.item, Capture):
                    waiting_bodies.append(pool.submit(_build_line, entry.item, archive, steps))
                if len(waiting_bodies) > 4 * workers:
                    yield waiting_bodies.popleft().result()
        while waiting_bodies:
            yield waiting_bodies.popleft().result()


def _build_line(
    capture: Capture, archive: Archive, steps: Mapping[str, StepFunction]
) -> ExtractedBody:
    record = identify(steps, capture)
    if record.file is None:
        return _build_answer(record, record.ending, _hash_body(archive, capture))
    if record.ending != DONE:
        return _build_answer(record, record.ending)
    result = read_body(steps, record, record.file)
    return _build_answer(record, result.disposition, **_build_fields(result.output))


def _hash_body(archive: Archive, capture: Capture) -> str | None:
    """Compute the SHA-1 of the body of a capture, for bodies that Fonds does not store as files.

    Returns None if the body is empty or cannot be read.
    """
    try:
        body = archive.read(capture.place).body
    except FondsError:
        return None
    return sha1(body, usedforsecurity=False).hexdigest() if body else None


def _build_fields(output: StepOutput | None) -> dict[str, Any]:
    match output:
        case PdfText():
            return {"pdf": output}
        case ParsedPage():
            story = encode_story(output.story, html=True)
            return {"story": story | {"story_id": output.story_id, "extractor": output.extractor}}
        case ArticleResult():
            reading = output.reading.reading
            article = (
                msgspec.json.decode(reading.full_json)
                if reading.full_json
                else {"error": reading.error}
            )
            return {"article": article}
    return {}


def _build_answer(
    record: RecordState, ending: Disposition, sha1hex: str | None = None, **fields: Any
) -> ExtractedBody:
    file = record.file
    return ExtractedBody(
        path=str(record.capture.place),
        sha1hex=file.sha1 if file else sha1hex,
        kind=file.kind if file else None,
        status=ending.verdict,
        reason=ending.reason,
        detail=ending.detail,
        url=record.capture.url,
        **fields,
    )
