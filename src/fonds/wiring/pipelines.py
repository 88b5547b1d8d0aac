"""A pipeline's stages bound to their steps, its threads, its intake, its sources, and what is read again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fonds.config import Settings
from fonds.library.catchup.selection import Selection
from fonds.library.catchup.sending import CatchUp, CatchUpCount
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.model.secrets import without_user
from fonds.ports import Stores
from fonds.process_identity import this_process
from fonds.runtime.binding import Bound, Steps, bind, stage_of, topic_name
from fonds.runtime.hand import Hand
from fonds.runtime.handover import Handover
from fonds.runtime.intake import Gate, Intake, Marks, wait_for_room
from fonds.runtime.paces.crowd import Crowd
from fonds.runtime.paces.heartbeat import Heartbeat
from fonds.runtime.paces.loop import Loop, Observer, unobserved
from fonds.runtime.threads import WorkerThreads
from fonds.runtime.working import RetryPolicy
from fonds.sources.listed.remote_files import is_remote
from fonds.sources.paths import PathSource
from fonds.sources.remote_paths import RemotePaths
from fonds.wiring.backends import (
    all_shared,
    now,
    open_web,
    pipeline_of,
    readers_of,
    s3_objects,
    topic_prefix,
)
from fonds.wiring.elsewhere.remote_files import RemoteFiles
from fonds.wiring.readers import Readers, cores
from fonds.wiring.steps import build_step


def pipeline_steps(stores: Stores, readers: Readers, settings: Settings) -> Steps:
    """The steps of the pipeline, by the names of its stages."""
    return {
        stage.name: build_step(stage.step, stores, readers, settings)
        for stage in pipeline_of(settings).stages
    }


def make_threads(
    stores: Stores,
    readers: Readers,
    settings: Settings,
    *,
    stages: Collection[str] | None = None,
    threads: int | None = None,
    patient: bool = False,
    observe: Observer = unobserved,
) -> WorkerThreads:
    """The threads of the pipeline, or of some of its stages, not yet started.

    `threads` None is what each stage says. Raises ConfigurationError for a stage it does not have.
    """
    here, handover = _bound(stores, readers, settings, stages)
    steps = [one.stage.name for one in here]
    heartbeat = Heartbeat(stores.records, this_process(), settings.pipeline, steps, now)
    work = settings.work
    retry = RetryPolicy(work.retries_max, work.retry_first_s, work.retry_longest_s)

    def told(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        heartbeat.observe(step, rows, seconds)
        observe(step, rows, seconds)

    def make_loop(bound: Bound) -> Loop | Crowd:
        hand = Hand(bound, stores.queue, stores.ledger, handover, now)
        return (Crowd if bound.stage.many else Loop)(hand, retry, told)

    each = work.children or cores()
    return WorkerThreads(stores.queue, handover, here, make_loop, each, threads, patient, heartbeat)


def _bound(
    stores: Stores, readers: Readers, settings: Settings, stages: Collection[str] | None
) -> tuple[list[Bound], Handover]:
    """The stages worked here, and what goes from one of them to another."""
    pipeline = pipeline_of(settings)
    known = [stage.name for stage in pipeline.stages]
    missing = sorted(set(stages or ()) - set(known))
    if missing:
        raise ConfigurationError(
            f"the pipeline {pipeline.name!r} has no step {missing[0]!r}; it has {', '.join(known)}"
        )
    bound = bind(pipeline, pipeline_steps(stores, readers, settings), topic_prefix(settings))
    here = [one for one in bound if stages is None or one.stage.name in stages]
    mine = {one.subscription.incoming for one in here}
    fed = {reader.incoming for one in here for way in one.routes for reader in way.readers}
    return here, Handover(stores.queue, stores.ledger, mine & fed)


def make_intake(stores: Stores, settings: Settings, stopping: Callable[[], bool]) -> Intake:
    """What enters what sources find into the pipeline."""
    marks = Marks(settings.work.queue_high, settings.work.queue_low)
    pipeline = pipeline_of(settings)
    topic = topic_name(pipeline, pipeline.entry, topic_prefix(settings))
    stages = tuple(stage.name for stage in pipeline.stages if stage.reads == pipeline.entry)
    gate = Gate(pipeline.name, topic, tuple(readers_of(settings)), stages, pipeline.entry.public)
    return Intake(stores.queue, stores.records, stores.ledger, gate, marks, now, stopping)


def path_source(paths: Sequence[Path], home: Path, settings: Settings) -> PathSource:
    """The source for paths."""
    base = without_user(settings.warc.base)
    return PathSource(paths, home, settings.collection, base, settings.follow_links)


def named_source(
    names: Sequence[str], home: Path, settings: Settings, *, keeps_files: bool = False
) -> PathSource | RemotePaths:
    """Return the source for what a person names on the command line: paths, URLs, `s3://BUCKET/PREFIX*`.

    WARCs that are fetched stay here with `keeps_files`, and where only this machine reads them.
    Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used.
    """
    local = path_source([Path(one) for one in names if not is_remote(one)], home, settings)
    urls = [one for one in names if is_remote(one)]
    if not urls:
        return local
    remotes = RemoteFiles(open_web(settings), s3_objects(home, settings))
    keeps_files = keeps_files or not all_shared(settings)
    return RemotePaths(local, urls, remotes, now, keeps_files=keeps_files)


def fetched_paths(names: Sequence[str], home: Path, settings: Settings) -> list[Path]:
    """Return the files that names mean; what lies at URLs and in S3 is fetched to the home's inbox.

    Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used, and for what cannot be had.
    """
    source = named_source([one for one in names if is_remote(one)], home, settings)
    paths = [Path(one) for one in names if not is_remote(one)]
    return [*paths, *(input_file(source, row) for row in source.inputs())]


def input_file(source: PathSource | RemotePaths, row: InputRow) -> Path:
    """Return the file of an input; one at a URL is fetched.

    Raises ConfigurationError for one that cannot be had.
    """
    if isinstance(source, PathSource) or not is_remote(row.path):
        return Path(row.path)
    try:
        return source.fetched(row)
    except PermanentError as error:
        raise ConfigurationError(f"{row.path}: {error.detail}") from error


@contextmanager
def fetched_file(url: str, home: Path, settings: Settings) -> Iterator[Path]:
    """The one file at a URL, on this disk for as long as the context lasts.

    Raises ConfigurationError for what cannot be had, and for a prefix of several files.
    """
    source = named_source([url], home, settings)
    path: Path | None = None
    with ExitStack() as opened:
        for row in source.inputs():
            if path is not None:
                raise ConfigurationError(f"{url} names several files; name one")
            path = opened.enter_context(opened_input(source, row))
        if path is None:
            raise ConfigurationError(f"{url} names no file")
        yield path


@contextmanager
def opened_input(source: PathSource | RemotePaths, row: InputRow) -> Iterator[Path]:
    """The file of an input, as `input_file` returns it; a fetched one is removed at the end."""
    path = input_file(source, row)
    try:
        yield path
    finally:
        discard_file(source, row.path, path)


def discard_file(source: PathSource | RemotePaths, name: str, path: Path) -> None:
    """Remove the file of an input called `name` again, if it was fetched."""
    if isinstance(source, RemotePaths) and is_remote(name):
        source.discard(path)


def catch_up(
    stores: Stores,
    settings: Settings,
    wanted: Selection,
    tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    stopping: Callable[[], bool] | None = None,
) -> CatchUpCount:
    """Put what is wanted to the step that reads it, waiting for room on its queue until `stopping`; without
    that it waits for none. Raises ConfigurationError where the pipeline has no such step."""
    reader = _reader(readers_of(settings), settings.pipeline, wanted)
    marks = Marks(settings.work.queue_high, settings.work.queue_low)

    def room() -> bool:
        if stopping is None:
            return True
        wait_for_room(stores.queue, reader, marks, stopping)
        return not stopping()

    sender = CatchUp(
        stores.queue,
        stores.records,
        stores.ledger,
        stores.table,
        stores.journal,
        reader,
        wanted,
        now,
        room,
    )
    return sender.run(tick)


def _reader(readers: Sequence[Subscription], pipeline: str, wanted: Selection) -> Subscription:
    step = wanted.reading.step
    found = next((one for one in readers if stage_of(one)[1] == step), None)
    if found is None:
        raise ConfigurationError(
            f"the pipeline {pipeline!r} has no step {step}, which reads what is to be caught up;"
            " choose another"
        )
    return found
