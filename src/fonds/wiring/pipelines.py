"""Which step stands behind a name, and a pipeline's threads, intake and sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from fonds.config import Settings
from fonds.extract.file_meta import describe
from fonds.model.errors import ConfigurationError
from fonds.ports import Archive, Stores
from fonds.runtime.binding import Steps, bind
from fonds.runtime.intake import Intake, Marks
from fonds.runtime.loop import Bound, Loop, Observer, unobserved
from fonds.runtime.threads import WorkerThreads
from fonds.runtime.working import RetryPolicy
from fonds.sources.paths import PathSource
from fonds.steps.pdf.remembering import Memory, forget
from fonds.wiring.backends import pipeline_of, readers_of, topic_prefix
from fonds.wiring.readers import Readers, cores

ROOMS = {
    "identify": "intake",
    "persist_file": "intake",
    "archive_body": "intake",
    "extract_pdf": "pdf",
    "persist_pdf_text": "pdf",
    "persist_thumbnail": "pdf",
    "parse_story": "story",
    "import_story": "story",
}
READING_STEPS = ("identify", "extract_pdf", "parse_story")


def now() -> datetime:
    """The clock everything is given: aware UTC."""
    return datetime.now(UTC)


def pipeline_steps(pipeline: str, stores: Stores, readers: Readers, settings: Settings) -> Steps:
    """The steps of a pipeline by name."""
    resources = reading_resources(stores.archive, readers, settings) | {
        "remember": Memory(stores.records, readers.pdf_extractor, now),
        "stopped_days": settings.pdf_stopped_days,
        "table": stores.table,
        "records": stores.records,
        "blobs": stores.blobs,
        "index": stores.index,
        "journal": stores.journal,
    }
    stages = pipeline_of(pipeline, settings).stages
    return {stage.step: build_step(stage.step, resources) for stage in stages}


def reading_steps(archive: Archive, readers: Readers, settings: Settings) -> Steps:
    """The steps that read bodies and store nothing: all that `fonds extract` needs."""
    resources = reading_resources(archive, readers, settings)
    return {name: build_step(name, resources) for name in READING_STEPS}


def reading_resources(archive: Archive, readers: Readers, settings: Settings) -> dict[str, Any]:
    """What a step may ask for by the name of a field, but for the stores."""
    from fonds.extract.page import EXTRACTOR as PAGE_EXTRACTOR

    return {
        "archive": archive,
        "clock": now,
        "copy_bodies": settings.copy_bodies,
        "describe": describe,
        "extract": readers.extract,
        "page_extractor": PAGE_EXTRACTOR,
        "page_max_bytes": settings.page_max_bytes,
        "parse": readers.parse,
        "pdf_extractor": readers.pdf_extractor,
        "pdf_max_bytes": settings.pdf_max_bytes,
        "remember": forget,
        "salvage": readers.salvage,
    }


def build_step(name: str, resources: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The one class of `steps/NAME.py`, each field filled by the resource of its name.

    A `NAME-VARIANT` is carried out by the same class.

    Raises ConfigurationError when there is no such step, or no such resource.
    """
    file = name.partition("-")[0]
    if file not in ROOMS:
        raise ConfigurationError(f"there is no step {name!r}")
    module = import_module(f"fonds.steps.{ROOMS[file]}.{file}")
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
    wanted = [field.name for field in fields(kind)]
    missing = [field for field in wanted if field not in resources]
    if missing:
        raise ConfigurationError(f"the step {name!r} asks for {missing}, and nothing has that name")
    step: Callable[[Any], Any] = kind(**{field: resources[field] for field in wanted})
    return step


def make_threads(
    pipeline: str,
    stores: Stores,
    readers: Readers,
    settings: Settings,
    *,
    steps: Collection[str] | None = None,
    workers: int | None = None,
    patient: bool = False,
    observe: Observer = unobserved,
) -> WorkerThreads:
    """The threads of a pipeline, or of some of its steps, not yet started.

    `workers` None is what each stage says. Raises ConfigurationError for a step it does not have.
    """
    retry = RetryPolicy(settings.retries_max, settings.retry_first_s, settings.retry_longest_s)
    built = pipeline_steps(pipeline, stores, readers, settings)
    missing = sorted(set(steps or ()) - set(built))
    if missing:
        raise ConfigurationError(
            f"the pipeline {pipeline!r} has no step {missing[0]!r}; it has {', '.join(built)}"
        )
    bound = bind(pipeline_of(pipeline, settings), built, topic_prefix(settings))
    stages = [one for one in bound if steps is None or one.stage.step in steps]

    def make_loop(bound: Bound) -> Loop:
        return Loop(bound, stores.queue, stores.records, retry, now, observe)

    return WorkerThreads(
        stores.queue, stages, make_loop, settings.children or cores(), workers, patient=patient
    )


def make_intake(
    pipeline: str, stores: Stores, settings: Settings, stopping: Callable[[], bool]
) -> Intake:
    """What enters captures into a pipeline."""
    marks = Marks(settings.queue_high, settings.queue_low)
    entry = readers_of(pipeline, settings)[0]
    return Intake(stores.queue, stores.records, entry, marks, now, stopping)


def path_source(paths: Sequence[Path], home: Path, settings: Settings) -> PathSource:
    """The source for what a person names on the command line."""
    return PathSource(paths, home, settings.collection, settings.warc_base)
