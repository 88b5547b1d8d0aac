"""Assembly of a pipeline: binds its stages to the queue, and creates its worker threads, intake and
sources.

Also sends stored files to be read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fonds.config import Settings
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
from fonds.pipelines.runtime.newer_messages import NewerMessages
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.ports import Records, Source, Stores
from fonds.wiring.archive import create_s3_opener, create_service_client
from fonds.wiring.backends import are_stores_shared
from fonds.wiring.flavours import build_topic_prefix, get_configured_pipeline, list_readers
from fonds.wiring.readers import Readers, count_cores, open_readers
from fonds.wiring.steps import build_step
from fonds.wiring.stores import close_stores, get_utc_now, open_stores


def build_pipeline_steps(stores: Stores, readers: Readers, settings: Settings) -> Steps:
    """Build the step of each stage in the configured pipeline, by name of the stage."""
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
    """Create the worker threads of the configured pipeline, without starting them.

    `stages`: names of the stages to run; None for all.
    `threads`: threads per stage; None for the number that each stage declares.
    `patient`: whether to wait while a store is full, instead of ending the work.
    `observe`: called with the dispositions and the duration of each batch.

    Raises ConfigurationError for an unknown stage.
    """
    bound_stages, handover = _bind_stages(stores, readers, settings, stages)
    steps = [bound_stage.stage.name for bound_stage in bound_stages]
    heartbeat = Heartbeat(
        stores.records, create_worker_name(), settings.pipeline, steps, get_utc_now
    )
    newer_messages = NewerMessages()
    work = settings.work
    retry = RetryPolicy(work.retries_max, work.retry_first_s, work.retry_longest_s)

    def observe_step(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        heartbeat.observe(step, rows, seconds)
        observe(step, rows, seconds)

    def make_loop(bound_stage: BoundStage) -> BatchLoop | ConcurrentLoop:
        io = StageIO(
            bound_stage, stores.queue, stores.ledger, handover, get_utc_now, newer_messages
        )
        return (ConcurrentLoop if bound_stage.stage.is_concurrent else BatchLoop)(
            io, retry, observe_step
        )

    threads_default = work.children or count_cores()
    return WorkerThreads(
        stores.queue,
        handover,
        bound_stages,
        make_loop,
        threads_default,
        threads,
        patient,
        heartbeat,
        newer_messages,
    )


def _bind_stages(
    stores: Stores, readers: Readers, settings: Settings, stages: Collection[str] | None
) -> tuple[list[BoundStage], Handover]:
    """Bind the stages that run in this process to the queue.

    `stages`: names of these stages; None for all.

    Returns the bound stages, and the queue in memory that carries messages from one of them to
    another. Raises ConfigurationError for an unknown stage.
    """
    pipeline = get_configured_pipeline(settings)
    stage_names = [stage.name for stage in pipeline.stages]
    missing = sorted(set(stages or ()) - set(stage_names))
    if missing:
        raise ConfigurationError(
            f"No step {missing[0]!r} in the pipeline {pipeline.name!r}. Known: "
            f"{', '.join(stage_names)}"
        )
    bound_stages = bind(
        pipeline, build_pipeline_steps(stores, readers, settings), build_topic_prefix(settings)
    )
    local_stages = [
        local_stage
        for local_stage in bound_stages
        if stages is None or local_stage.stage.name in stages
    ]
    read_addresses = {local_stage.subscription.incoming for local_stage in local_stages}
    written_addresses = {
        reader.incoming
        for local_stage in local_stages
        for route in local_stage.routes
        for reader in route.readers
    }
    return local_stages, Handover(stores.queue, stores.ledger, read_addresses & written_addresses)


def create_intake(stores: Stores, settings: Settings, should_stop: Callable[[], bool]) -> Intake:
    """Create the intake of the configured pipeline, which enters the entries of inputs into the
    pipeline.

    `should_stop`: returns whether to stop entering.
    """
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
    """Create the source that reads the files and folders at these paths. `home` is the library
    folder.
    """
    base = strip_credentials(settings.warc.base)
    return PathSource(paths, home, settings.collection, base, settings.follow_links)


def create_named_source(
    names: Sequence[str], home: Path, settings: Settings, *, keeps_files: bool = False
) -> PathSource | RemotePathSource:
    """Create the source for what a user names on the command line: paths, URLs and
    `s3://BUCKET/PREFIX*`.

    `keeps_files`: whether downloaded WARCs are kept. They are also kept if only this machine can
        use the stores.

    Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used.
    """
    local = create_path_source(
        [Path(name) for name in names if not is_remote(name)], home, settings
    )
    urls = [name for name in names if is_remote(name)]
    if not urls:
        return local
    remotes = RemoteFiles(create_service_client(settings), create_s3_opener(home, settings))
    keeps_files = keeps_files or not are_stores_shared(settings)
    return RemotePathSource(local, urls, remotes, get_utc_now, keeps_files=keeps_files)


def fetch_paths(names: Sequence[str], home: Path, settings: Settings) -> list[Path]:
    """Return the paths of the files that a user names. Files at URLs and in S3 are downloaded.

    They are downloaded to the inbox of the library folder. Raises ConfigurationError for an
    `elsewhere.s3_url` that cannot be used, and for a file that cannot be fetched.
    """
    source = create_named_source([name for name in names if is_remote(name)], home, settings)
    paths = [Path(name) for name in names if not is_remote(name)]
    return [*paths, *(get_input_file(source, row) for row in source.iter_inputs())]


def get_input_file(source: PathSource | RemotePathSource, row: InputRow) -> Path:
    """Return the local path of an input file. A file at a URL is downloaded.

    Raises ConfigurationError for a file that cannot be fetched.
    """
    if isinstance(source, PathSource) or not is_remote(row.path):
        return Path(row.path)
    try:
        return source.fetch(row)
    except PermanentError as error:
        raise ConfigurationError(f"{row.path}: {error.detail}") from error


@contextmanager
def fetch_file(url: str, home: Path, settings: Settings) -> Iterator[Path]:
    """Provide the single file at a URL as a local file until the `with` block ends.

    Raises ConfigurationError if the URL names no file or several files, or if the file cannot be
    fetched.
    """
    source = create_named_source([url], home, settings)
    path: Path | None = None
    with ExitStack() as stack:
        for row in source.iter_inputs():
            if path is not None:
                raise ConfigurationError(f"{url} contains several files; name one")
            path = stack.enter_context(open_input(source, row))
        if path is None:
            raise ConfigurationError(f"{url} contains no file")
        yield path


@contextmanager
def open_input(source: PathSource | RemotePathSource, row: InputRow) -> Iterator[Path]:
    """Provide the local path of an input file until the `with` block ends.

    A file at a URL is downloaded and deleted at the end. Raises ConfigurationError if the file
    cannot be fetched.
    """
    path = get_input_file(source, row)
    try:
        yield path
    finally:
        discard_file(source, row.path, path)


def discard_file(source: PathSource | RemotePathSource, name: str, path: Path) -> None:
    """Delete the local file `path` of an input if it was downloaded from the URL `name`."""
    if isinstance(source, RemotePathSource) and is_remote(name):
        source.discard(path)


def send_catchup(
    stores: Stores,
    settings: Settings,
    selection: CatchUpSelection,
    tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    should_stop: Callable[[], bool] | None = None,
) -> CatchUpCount:
    """Send the stored files that `selection` describes to the step that reads them. Return the
    numbers of files examined, sent and not sent.

    `tick`: called with the counts so far and the entries that were sent.
    `should_stop`: returns whether to stop. If given, sending waits while the queue of the step is
        too full. With None, it never waits.

    Raises ConfigurationError if the pipeline has no step that reads these files.
    """
    reader = _find_reader(list_readers(settings), settings.pipeline, selection)
    marks = QueueMarks(settings.work.queue_high, settings.work.queue_low)

    def has_room() -> bool:
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
        has_room,
    )
    return sender.run(tick)


def _find_reader(
    readers: Sequence[Subscription], pipeline: str, selection: CatchUpSelection
) -> Subscription:
    step = selection.reading.step
    subscription = next(
        (candidate for candidate in readers if parse_subscription_name(candidate)[1] == step), None
    )
    if subscription is None:
        raise ConfigurationError(
            f"The pipeline {pipeline!r} has no step {step}, which reads these files; choose another"
        )
    return subscription


CHECK_EVERY_S = 0.2
PATIENCE_S = 600.0
"""Seconds without a new outcome after which a pipeline run stops waiting for an input. Entries
without an outcome are left pending for another process.
"""
REPEAT_REASON = "extracted again in bulk"


@dataclass(frozen=True, slots=True)
class LocalPipelineRun:
    """The configured pipeline, running in this process for a bulk job that extracts into the
    stores.

    Implements `RunningPipeline`. It processes one input after the other, and has its own stores,
    parsers and threads.
    """

    stores: Stores
    readers: Readers
    threads: WorkerThreads
    intake: Intake
    pipeline: str

    @property
    def records(self) -> Records:
        """Records (SQL rows) of the library. They contain the ledger."""
        return self.stores.records

    def run_input(self, source: Source, row: InputRow) -> None:
        """Process one input and wait until all its entries have an outcome.

        Waiting also ends if nothing gets an outcome for `PATIENCE_S` seconds. The entries of an
        input that was read to its end earlier are sent again; reading of any other input is
        continued. Raises the error that stopped a worker thread.
        """
        earlier_rows, counts = (
            self.records.get(InputRow, [(row.input_id, self.pipeline)]),
            IntakeCounts(),
        )
        if earlier_rows and earlier_rows[0].finished:
            entries = (item for item in source.iter_entries(row) if isinstance(item, Entry))
            while chunk := list(islice(entries, BATCH_MAX)):
                self.intake.send_again(chunk, REPEAT_REASON)
        else:
            self.intake.run(source, counts)
        self._wait(row.input_id)
        self.intake.end_failures(counts)
        if (failure := self.threads.get_failure()) is not None:
            raise failure

    def close(self) -> None:
        """Stop the threads and close the stores.

        Messages that do not end within some seconds are delivered again later.
        """
        if self.threads.stop():
            self.readers.close()
            self.stores.archive.finish()
        close_stores(self.stores)

    def _wait(self, input_id: str) -> None:
        where = {"input_id": input_id, "pipeline": self.pipeline, "outcome": "pending"}
        previous_count, since_s = -1, time.monotonic()
        while not self.threads.wait(CHECK_EVERY_S):
            pending_count = self.records.count(EntryRow, (), where)[()]
            if pending_count != previous_count:
                previous_count, since_s = pending_count, time.monotonic()
            if not pending_count or time.monotonic() - since_s > PATIENCE_S:
                return


def open_pipeline(home: Path, settings: Settings) -> LocalPipelineRun:
    """Open the stores of a library and start the configured pipeline in this process."""
    stores = open_stores(home, settings)
    readers = open_readers(home / "tmp", settings)
    threads = create_threads(stores, readers, settings)
    intake = create_intake(stores, settings, threads.is_stopping)
    threads.start()
    return LocalPipelineRun(stores, readers, threads, intake, settings.pipeline)
