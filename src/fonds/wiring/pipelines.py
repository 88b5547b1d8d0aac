"""A pipeline's stages bound to their steps, its threads, its intake, its sources, and what is read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fonds.config import Settings
from fonds.failures.accounting.tallies import list_used_pipelines, list_used_steps
from fonds.ingest.catch_up import CatchUp, CatchUpCount, CatchUpSelection
from fonds.ingest.sources.paths import PathSource
from fonds.ingest.sources.remote_files import RemoteFiles, is_remote
from fonds.ingest.sources.remote_paths import RemotePathSource
from fonds.isolation.process_identity import create_worker_name
from fonds.model.entry import Entry
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.model.secrets import strip_credentials
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.pipelines.runtime.binding import (
    BoundStage,
    Steps,
    bind,
    name_topic,
    parse_subscription_name,
)
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.heartbeat import Heartbeat
from fonds.pipelines.runtime.intake import (
    BATCH_MAX,
    EntryGate,
    Intake,
    IntakeCounts,
    QueueMarks,
    wait_for_room,
)
from fonds.pipelines.runtime.loops import BatchLoop, ConcurrentLoop, Observer, ignore_batch
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.ports import Records, Source, Stores
from fonds.wiring.readers import Readers, count_cores, open_readers
from fonds.wiring.steps import build_step
from fonds.wiring.stores import (
    are_stores_shared,
    build_topic_prefix,
    close_stores,
    create_s3_opener,
    get_configured_pipeline,
    get_utc_now,
    list_readers,
    open_stores,
    open_web,
)


def build_pipeline_steps(stores: Stores, readers: Readers, settings: Settings) -> Steps:
    """The steps of the pipeline, by the names of its stages."""
    return {
        stage.name: build_step(stage.step, stores, readers, settings)
        for stage in get_configured_pipeline(settings).stages
    }


def create_threads(
    stores: Stores,
    readers: Readers,
    settings: Settings,
    *,
    stages: Collection[str] | None = None,
    threads: int | None = None,
    patient: bool = False,
    observe: Observer = ignore_batch,
) -> WorkerThreads:
    """The threads of the pipeline, or of some of its stages, not yet started.

    `threads` None is what each stage says. Raises ConfigurationError for a stage it does not have.
    """
    here, handover = _bind_stages(stores, readers, settings, stages)
    steps = [one.stage.name for one in here]
    heartbeat = Heartbeat(
        stores.records, create_worker_name(), settings.pipeline, steps, get_utc_now
    )
    work = settings.work
    retry = RetryPolicy(work.retries_max, work.retry_first_s, work.retry_longest_s)

    def told(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        heartbeat.observe(step, rows, seconds)
        observe(step, rows, seconds)

    def make_loop(bound: BoundStage) -> BatchLoop | ConcurrentLoop:
        hand = StageIO(bound, stores.queue, stores.ledger, handover, get_utc_now)
        return (ConcurrentLoop if bound.stage.many else BatchLoop)(hand, retry, told)

    each = work.children or count_cores()
    return WorkerThreads(stores.queue, handover, here, make_loop, each, threads, patient, heartbeat)


def _bind_stages(
    stores: Stores, readers: Readers, settings: Settings, stages: Collection[str] | None
) -> tuple[list[BoundStage], Handover]:
    """The stages worked here, and what goes from one of them to another."""
    pipeline = get_configured_pipeline(settings)
    known = [stage.name for stage in pipeline.stages]
    missing = sorted(set(stages or ()) - set(known))
    if missing:
        raise ConfigurationError(
            f"the pipeline {pipeline.name!r} has no step {missing[0]!r}; it has {', '.join(known)}"
        )
    bound = bind(
        pipeline, build_pipeline_steps(stores, readers, settings), build_topic_prefix(settings)
    )
    here = [one for one in bound if stages is None or one.stage.name in stages]
    mine = {one.subscription.incoming for one in here}
    fed = {reader.incoming for one in here for way in one.routes for reader in way.readers}
    return here, Handover(stores.queue, stores.ledger, mine & fed)


def create_intake(stores: Stores, settings: Settings, should_stop: Callable[[], bool]) -> Intake:
    """What enters what sources find into the pipeline."""
    marks = QueueMarks(settings.work.queue_high, settings.work.queue_low)
    pipeline = get_configured_pipeline(settings)
    topic = name_topic(pipeline, pipeline.entry, build_topic_prefix(settings))
    stages = tuple(stage.name for stage in pipeline.stages if stage.reads == pipeline.entry)
    gate = EntryGate(
        pipeline.name, topic, tuple(list_readers(settings)), stages, pipeline.entry.public
    )
    return Intake(
        stores.queue, stores.records, stores.ledger, gate, marks, get_utc_now, should_stop
    )


def create_path_source(paths: Sequence[Path], home: Path, settings: Settings) -> PathSource:
    """The source for paths."""
    base = strip_credentials(settings.warc.base)
    return PathSource(paths, home, settings.collection, base, settings.follow_links)


def create_named_source(
    names: Sequence[str], home: Path, settings: Settings, *, keeps_files: bool = False
) -> PathSource | RemotePathSource:
    """Return the source for what a person names on the command line: paths, URLs, `s3://BUCKET/PREFIX*`.

    WARCs that are fetched stay here with `keeps_files`, and where only this machine reads them.
    Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used.
    """
    local = create_path_source([Path(one) for one in names if not is_remote(one)], home, settings)
    urls = [one for one in names if is_remote(one)]
    if not urls:
        return local
    remotes = RemoteFiles(open_web(settings), create_s3_opener(home, settings))
    keeps_files = keeps_files or not are_stores_shared(settings)
    return RemotePathSource(local, urls, remotes, get_utc_now, keeps_files=keeps_files)


def fetch_paths(names: Sequence[str], home: Path, settings: Settings) -> list[Path]:
    """Return the files that names mean; what lies at URLs and in S3 is fetched to the home's inbox.

    Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used, and for what cannot be had.
    """
    source = create_named_source([one for one in names if is_remote(one)], home, settings)
    paths = [Path(one) for one in names if not is_remote(one)]
    return [*paths, *(get_input_file(source, row) for row in source.iter_inputs())]


def get_input_file(source: PathSource | RemotePathSource, row: InputRow) -> Path:
    """Return the file of an input; one at a URL is fetched.

    Raises ConfigurationError for one that cannot be had.
    """
    if isinstance(source, PathSource) or not is_remote(row.path):
        return Path(row.path)
    try:
        return source.fetch(row)
    except PermanentError as error:
        raise ConfigurationError(f"{row.path}: {error.detail}") from error


@contextmanager
def fetch_file(url: str, home: Path, settings: Settings) -> Iterator[Path]:
    """The one file at a URL, on this disk for as long as the context lasts.

    Raises ConfigurationError for what cannot be had, and for a prefix of several files.
    """
    source = create_named_source([url], home, settings)
    path: Path | None = None
    with ExitStack() as opened:
        for row in source.iter_inputs():
            if path is not None:
                raise ConfigurationError(f"{url} names several files; name one")
            path = opened.enter_context(open_input(source, row))
        if path is None:
            raise ConfigurationError(f"{url} names no file")
        yield path


@contextmanager
def open_input(source: PathSource | RemotePathSource, row: InputRow) -> Iterator[Path]:
    """The file of an input, as `get_input_file` returns it; a fetched one is removed at the end."""
    path = get_input_file(source, row)
    try:
        yield path
    finally:
        discard_file(source, row.path, path)


def discard_file(source: PathSource | RemotePathSource, name: str, path: Path) -> None:
    """Remove the file of an input called `name` again, if it was fetched."""
    if isinstance(source, RemotePathSource) and is_remote(name):
        source.discard(path)


def send_catchup(
    stores: Stores,
    settings: Settings,
    selection: CatchUpSelection,
    tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    should_stop: Callable[[], bool] | None = None,
) -> CatchUpCount:
    """Put what is wanted to the step that reads it, waiting for room on its queue until `should_stop`;
    without that it waits for none. Raises ConfigurationError where the pipeline has no such step."""
    reader = _find_reader(list_readers(settings), settings.pipeline, selection)
    marks = QueueMarks(settings.work.queue_high, settings.work.queue_low)

    def room() -> bool:
        if should_stop is None:
            return True
        wait_for_room(stores.queue, reader, marks, should_stop)
        return not should_stop()

    sender = CatchUp(
        stores.queue,
        stores.records,
        stores.ledger,
        stores.table,
        stores.journal,
        reader,
        selection,
        get_utc_now,
        room,
    )
    return sender.run(tick)


def _find_reader(
    readers: Sequence[Subscription], pipeline: str, selection: CatchUpSelection
) -> Subscription:
    step = selection.reading.step
    found = next((one for one in readers if parse_subscription_name(one)[1] == step), None)
    if found is None:
        raise ConfigurationError(
            f"the pipeline {pipeline!r} has no step {step}, which reads what is to be caught up;"
            " choose another"
        )
    return found


# The pipeline of a home at work on one input after the other, for jobs that extract into the stores.


CHECK_EVERY_S = 0.2
PATIENCE_S = 600.0
"""What is still open when nothing has ended for so long is left pending: it waits for somebody else."""
REPEAT_REASON = "extracted again in bulk"


@dataclass(frozen=True, slots=True)
class LocalPipelineRun:
    """Implements Working: stores, readers and threads of its own, started at once."""

    stores: Stores
    readers: Readers
    threads: WorkerThreads
    intake: Intake
    pipeline: str

    @property
    def records(self) -> Records:
        """Where the books are read."""
        return self.stores.records

    def run_input(self, source: Source, row: InputRow) -> None:
        """What was finished before is sent again, the rest is entered where that was left off."""
        known, entered = self.records.get(InputRow, [(row.input_id, self.pipeline)]), IntakeCounts()
        if known and known[0].finished:
            found = (one for one in source.iter_entries(row) if isinstance(one, Entry))
            while some := list(islice(found, BATCH_MAX)):
                self.intake.send_again(some, REPEAT_REASON)
        else:
            self.intake.run(source, entered)
        self._wait(row.input_id)
        self.intake.end_failures(entered)
        if (failure := self.threads.get_failure()) is not None:
            raise failure

    def close(self) -> None:
        """What is in hand comes back by itself when it does not end within some seconds."""
        if self.threads.stop():
            self.readers.close()
            self.stores.archive.finish()
        close_stores(self.stores)

    def _wait(self, input_id: str) -> None:
        where = {"input_id": input_id, "pipeline": self.pipeline, "outcome": "pending"}
        before, since_s = -1, time.monotonic()
        while not self.threads.wait(CHECK_EVERY_S):
            left = self.records.count(EntryRow, (), where)[()]
            if left != before:
                before, since_s = left, time.monotonic()
            if not left or time.monotonic() - since_s > PATIENCE_S:
                return


def open_pipeline(home: Path, settings: Settings) -> LocalPipelineRun:
    """The pipeline of these settings at work in this process."""
    stores = open_stores(home, settings)
    readers = open_readers(home / "tmp", settings)
    threads = create_threads(stores, readers, settings)
    intake = create_intake(stores, settings, threads.is_stopping)
    threads.start()
    return LocalPipelineRun(stores, readers, threads, intake, settings.pipeline)


# The names there are in a home: those of its flavours, and those its ledger has met.


def check_names(records: Records, *, pipeline: str | None = None, step: str | None = None) -> None:
    """Raises ValueError, with the nearest, for a pipeline or step there is not; None and '' are not looked
    at.
    """
    if pipeline and pipeline not in (known := list_pipelines(records)):
        raise ValueError(format_unknown_name("pipeline", pipeline, known))
    if step and step not in (known := list_steps(records)):
        raise ValueError(format_unknown_name("step", step, known))


def has_flavour(name: str) -> bool:
    """Whether there is a flavour of this name."""
    return name in PIPELINES


def list_pipelines(records: Records) -> list[str]:
    """The flavours, and the pipelines anything ever entered."""
    return list(dict.fromkeys([*PIPELINES, *list_used_pipelines(records)]))


def list_steps(records: Records) -> list[str]:
    """The steps of all flavours, and those at which anything ever ended."""
    ours = (stage.name for made in PIPELINES.values() for stage in made(()).stages)
    return list(dict.fromkeys([*ours, *list_used_steps(records)]))


def list_used_readers(
    stores: Stores, settings: Settings, selected_pipeline: str | None = None
) -> dict[str, list[Subscription]]:
    """The pipeline chosen with its readers, else all that anything ever entered, and the home's own; their
    addresses are made."""
    if selected_pipeline:
        return {selected_pipeline: list_readers(settings)}
    names = dict.fromkeys([settings.pipeline, *list_used_pipelines(stores.records)])
    found = {name: list_readers(settings, name) for name in names if has_flavour(name)}
    for readers in found.values():
        stores.queue.declare(readers)
    return found
