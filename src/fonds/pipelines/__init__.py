"""Flavours: which step reads and writes which topic; data, no logic."""

from collections.abc import Callable, Mapping, Sequence

from fonds.model.step import Pipeline, Topic
from fonds.pipelines.archive import archive
from fonds.pipelines.archive_only import archive_only
from fonds.pipelines.library import library
from fonds.pipelines.metadata_only import metadata_only
from fonds.pipelines.news import batch, csv, historical, news, queue_fetcher
from fonds.pipelines.papers import grobid, match
from fonds.pipelines.pdf_only import pdf_only
from fonds.pipelines.stories_only import stories_only
from fonds.pipelines.warc import warc

PIPELINES: Mapping[str, Callable[[Sequence[str]], Pipeline]] = {
    "library": library,
    "pdf-only": pdf_only,
    "stories-only": stories_only,
    "archive-only": archive_only,
    "metadata-only": metadata_only,
    "news": news,
    "queue-fetcher": queue_fetcher,
    "csv": csv,
    "batch": batch,
    "historical": historical,
    "archive": archive,
    "warc": warc,
    "grobid": grobid,
    "match": match,
}
"""Each flavour by name, to be made with the forms of thumbnails it has beside the usual one."""


def beginning_with(topic: Topic) -> list[str]:
    """The flavours whose entries go onto this topic."""
    return [name for name, made in PIPELINES.items() if made(()).entry == topic]


def stages_of(name: str) -> list[str]:
    """The names of a flavour's stages in their order; none for no flavour."""
    made = PIPELINES.get(name)
    return [stage.name for stage in made(()).stages] if made else []
