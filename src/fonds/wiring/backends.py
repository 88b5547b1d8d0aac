"""Which class stands behind a URL, and the six stores of a home, opened and closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from fonds.config import PORTS, Settings
from fonds.formats.journal import journal_schema, journal_table
from fonds.formats.wire import CONTRACTS
from fonds.formats.wire.large_field import LargeField
from fonds.kinds.embargoes import embargoed
from fonds.model.capture import Place, PlaceKind
from fonds.model.completing import NamedTheme
from fonds.model.document import IndexDocument, SearchQuery
from fonds.model.errors import ConfigurationError, FondsError, PermanentError
from fonds.model.extras import missing_extra
from fonds.model.keys import THUMBNAIL_FOLDER
from fonds.model.message import Subscription
from fonds.model.names import no_such
from fonds.model.rows import CdxRow
from fonds.model.secrets import credentials, without_secrets, without_user
from fonds.model.step import Pipeline
from fonds.pipelines import PIPELINES
from fonds.pipelines.papers import with_papers
from fonds.ports import Blobs, Completes, Index, Records, Stores, Table, WarcArchive
from fonds.ports.closing import close
from fonds.queues.large_bodies import LargeBodies, Limits
from fonds.runtime.binding import public_topics, subscriptions, topic_name
from fonds.runtime.homelock import make_home
from fonds.sources.indexes import paths_below
from fonds.steps.intake.warc_names import WarcNames, paths_of
from fonds.stores.archive.bodies.body_cache import BodyCache
from fonds.stores.archive.bodies.read_over import ReadOver
from fonds.stores.archive.bodies.spooled import SpooledBodies
from fonds.stores.archive.options import ArchiveOptions, utc_now
from fonds.stores.blobs.split import SplitBlobs
from fonds.stores.index.query.keeping_out import KeepingOut
from fonds.stores.index.query.versions import VersionedIndex


@dataclass(frozen=True, slots=True)
class Backend:
    """A technology behind a scheme.

    `opens` is the module and what is called in it. `below_home`: the URL is a path below the home, which
    it is called with instead. `shared`: processes may use it side by side, on every machine that reaches
    what the URL names. `alone`: what one process keeps no other sees, so that nobody works beside it.
    `extra` brings the library.
    """

    opens: str
    below_home: bool = False
    shared: bool = True
    alone: bool = False
    extra: str = ""


BLOBS = {
    "file": Backend("fonds.stores.blobs.folder:FolderBlobs", below_home=True),
    "s3": Backend("fonds.stores.blobs.s3:S3Blobs", extra="s3"),
}
BACKENDS: dict[str, dict[str, Backend]] = {
    "queue": {
        "sqlite": Backend("fonds.queues.sqlite:SqliteQueue", below_home=True, shared=False),
        "amqp": Backend("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "amqps": Backend("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "kafka": Backend("fonds.queues.kafka.queue:KafkaQueue", extra="kafka"),
    },
    "table": {
        "sqlite": Backend("fonds.stores.table.sqlite:SqliteTable", below_home=True, shared=False),
        "hbase": Backend("fonds.stores.table.hbase:HbaseTable", extra="hbase"),
    },
    "records": {
        "sqlite": Backend("fonds.stores.records.sql:open_sqlite", below_home=True, shared=False),
        "postgresql": Backend("fonds.stores.records.sql:SqlRecords", extra="postgresql"),
    },
    "blobs": BLOBS,
    "thumbnails": BLOBS,
    "index": {
        "tantivy": Backend(
            "fonds.stores.index.tantivy_index:TantivyIndex", below_home=True, shared=False
        ),
        "elasticsearch": Backend(
            "fonds.stores.index.elastic.index:open_elasticsearch", extra="elasticsearch"
        ),
        "opensearch": Backend(
            "fonds.stores.index.elastic.index:open_opensearch", extra="opensearch"
        ),
    },
    "archive": {
        "file": Backend("fonds.stores.archive.folder:FolderArchive", below_home=True),
        "s3": Backend("fonds.stores.archive.s3:S3Archive", extra="s3"),
    },
    "s3_url": {"s3": Backend("fonds.stores.s3.objects:S3Objects", extra="s3")},
}


def backend(port: str, url: str, home: Path, *options: object) -> Any:
    """The backend a URL names, opened; `options` go with the URL.

    Raises ConfigurationError for a scheme no backend has, and when its library is not installed.
    """
    found = _named(port, url)
    module, _, name = found.opens.partition(":")
    try:
        opens: Callable[..., Any] = getattr(import_module(module), name)
        # Some modules import their library only when they are opened.
        return opens(home / url.partition(":")[2] if found.below_home else url, *options)
    except ModuleNotFoundError as error:
        if not found.extra:
            raise
        raise missing_extra(
            f"{port} = {without_secrets(url)!r}", found.extra, error.name
        ) from error


def _named(port: str, url: str) -> Backend:
    scheme, known = url.partition(":")[0], BACKENDS[port]
    if scheme not in known:
        raise ConfigurationError(
            f"{port} = {without_secrets(url)!r}: {no_such('backend', scheme, sorted(known))}"
        )
    return known[scheme]


def all_shared(settings: Settings) -> bool:
    """Whether any number of processes may work side by side on all stores these settings name."""
    return all_shared_of(settings, PORTS)


def all_shared_of(settings: Settings, ports: Iterable[str]) -> bool:
    """Whether any number of processes may work side by side on the stores behind these ports."""
    return all(_named(port, getattr(settings, port)).shared for port in ports)


def stages_side_by_side(settings: Settings) -> list[str]:
    """The stages of the pipeline that several processes of this machine may work at once; none where a store
    is one process's alone."""
    if any(_named(port, getattr(settings, port)).alone for port in PORTS):
        return []
    several = _named("index", settings.index).shared
    stages = pipeline_of(settings).stages
    return [one.name for one in stages if (several or not one.indexes) and not one.many]


def topic_prefix(settings: Settings) -> str:
    """Return the prefix of all topics: `{topic_group}-{env}`."""
    return f"{settings.topic_group or settings.group}-{settings.env}"


def pipeline_of(settings: Settings) -> Pipeline:
    """The flavour chosen. Raises ConfigurationError for an unknown one."""
    return named_pipeline(settings.pipeline, settings)


def named_pipeline(name: str, settings: Settings) -> Pipeline:
    """The flavour of this name. Raises ConfigurationError for an unknown one."""
    if name not in PIPELINES:
        raise ConfigurationError(no_such("pipeline", name, PIPELINES))
    asked = settings.grobid.at_once if settings.grobid.url else 0
    return with_papers(PIPELINES[name](further_thumbnails(settings)), asked, match=settings.match)


def further_thumbnails(settings: Settings) -> tuple[str, ...]:
    """The forms of thumbnails asked for beside the usual one."""
    return tuple(word.strip() for word in settings.pdf.more_thumbnails.split(",") if word.strip())


def readers_of(settings: Settings, pipeline: str = "") -> list[Subscription]:
    """The subscriptions of a pipeline, or of the one chosen, in the order of its stages."""
    chosen = named_pipeline(pipeline or settings.pipeline, settings)
    return subscriptions(chosen, topic_prefix(settings))


def open_queue(home: Path, settings: Settings) -> LargeBodies:
    """The queue alone, with the topics and addresses of the pipeline made."""
    make_home(home)
    queue = backend("queue", settings.queue, home)
    blobs = _open_blobs(home, settings)
    pipeline, prefix = pipeline_of(settings), topic_prefix(settings)
    public = public_topics(pipeline, prefix)
    limits = Limits(settings.message_max_bytes, settings.topic_message_max_bytes)
    whole = LargeBodies(queue, blobs, limits, large_fields(pipeline, prefix))
    whole.declare(readers_of(settings), public)
    return whole


def _open_blobs(home: Path, settings: Settings) -> Blobs:
    blobs: Blobs = backend("blobs", settings.blobs, home)
    if not settings.thumbnails:
        return blobs
    return SplitBlobs(blobs, backend("thumbnails", settings.thumbnails, home), THUMBNAIL_FOLDER)


def large_fields(pipeline: Pipeline, prefix: str) -> dict[str, LargeField]:
    """The field that may be too large, by the name of each public topic that has one."""
    topics = {topic for stage in pipeline.stages for topic in stage.writes if topic.public}
    contracts = {topic_name(pipeline, one, prefix): CONTRACTS[one.payload] for one in topics}
    return {name: one.large_field for name, one in contracts.items() if one.large_field}


def open_index(home: Path, settings: Settings, table: Table | None = None) -> Index:
    """The index alone, to be asked; themes are asked of this table, or of one that is opened for it."""
    from fonds.stores.index.query.themed import ThemedIndex

    def themes(asked: str) -> list[str]:
        from fonds.collections.reading.themes import documents_of_theme
        from fonds.collections.tables import Tables

        opened = table or backend("table", settings.table, home)
        try:
            return documents_of_theme(Tables(opened, settings.collections.prefix), asked)
        finally:
            if table is None:
                close(opened)

    return ThemedIndex(backend("index", settings.index, home), themes)


def open_stores(home: Path, settings: Settings) -> Stores:
    """Open all six stores of a home, making what is not there yet and migrating what is older.

    Raises ConfigurationError for what cannot be opened.
    """
    queue = open_queue(home, settings)
    records = backend("records", settings.records, home)
    archive = _bare_archive(home, settings, lambda: records)
    limit_bytes = max(settings.pdf.max_bytes, settings.page.max_bytes)
    spooled = SpooledBodies(archive, queue.blobs, partial(_archived_at, records), limit_bytes)
    table = backend("table", settings.table, home)
    stores = Stores(
        queue=queue,
        table=table,
        records=records,
        ledger=records.ledger,
        blobs=queue.blobs,
        index=_shown_index(open_index(home, settings, table), records, queue.blobs),
        archive=ReadOver(archive, BodyCache(spooled)),
        journal=journal_table(settings.group, settings.table_version, settings.env),
    )
    schema = journal_schema(settings.table_families)
    stores.table.declare(stores.journal, schema.names, compressions=schema.compressions)
    return stores


def warc_names(stores: Stores) -> WarcNames:
    """What gives names to WARCs and remembers where they lie."""
    return WarcNames(stores.records, stores.archive, utc_now)


def close_stores(stores: Stores) -> None:
    """Close what can be closed: messages in hand are given back at once, files and connections ended."""
    close(stores.queue, stores.table, stores.records, stores.blobs, stores.index, stores.archive)


def set_index_aside(stores: Stores, home: Path, settings: Settings) -> tuple[Stores, Path]:
    """The same stores with an empty index, and where the folder of the old one lies now.

    Raises ConfigurationError when the index is no folder of this machine, or cannot be moved.
    """
    if not _named("index", settings.index).below_home:
        raise ConfigurationError(
            f"index = {without_secrets(settings.index)!r} is no folder that could be moved aside;"
            " empty it yourself, then run `fonds reindex` again"
        )
    folder = home / settings.index.partition(":")[2]
    names = (folder.with_name(f"{folder.name}.damaged-{number}") for number in count(1))
    aside = next(path for path in names if not os.path.lexists(path))
    with suppress(FondsError):
        # A damaged index may not be closed without complaint; its lock is given up all the same.
        close(stores.index)
    try:
        folder.rename(aside)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be moved to {aside} ({error.strerror}). Move it away yourself,"
            " then run `fonds reindex` again."
        ) from error
    fresh = open_index(home, settings, stores.table)
    return replace(stores, index=_shown_index(fresh, stores.records, stores.blobs)), aside


def _shown_index(index: Index, records: Records, blobs: Blobs) -> Index:
    """The index without hidden files, which knows the texts of earlier versions."""
    hidden = partial(embargoed, records)
    return KeepingOut(VersionedIndex(index, blobs, hidden), hidden)


def open_archive(home: Path, settings: Settings) -> WarcArchive:
    """The archive of a home, without its spool; nothing is written before the first body is."""
    # Opened for names of other people's WARCs alone: most readers have none.
    archive = _bare_archive(
        home, settings, cache(lambda: backend("records", settings.records, home))
    )
    return ReadOver(archive, BodyCache(archive))


def _bare_archive(home: Path, settings: Settings, records: Callable[[], Records]) -> WarcArchive:
    base = without_user(settings.warc.base)

    def paths(name: str) -> Iterator[str]:
        try:
            found, several = paths_of(records(), name), None
        except PermanentError as error:
            found, several = (), error
        yield from found
        yield from paths_below(base, name)
        if several is not None:
            raise several

    elsewhere = settings.elsewhere
    options = ArchiveOptions(
        prefix=settings.warc.prefix,
        agent=settings.fetch.user_agent,
        version=f"WARC/{settings.warc.version}",
        for_media_cloud=settings.warc.form == "mediacloud",
        stories_max=settings.warc.stories_max,
        file_max_bytes=settings.warc.max_bytes,
        body_max_bytes=max(settings.pdf.max_bytes, settings.page.max_bytes),
        waiting_folder=home / "archive",
        waiting_max_bytes=settings.warc.waiting_max_bytes,
        private_addresses=elsewhere.private_addresses,
        remotes={"s3": s3_objects(home, settings)},
        replay_url=without_user(elsewhere.replay_url),
        petabox_url=without_user(elsewhere.petabox_url),
        credentials=credentials((settings.warc.base, elsewhere.replay_url, elsewhere.petabox_url)),
        paths_of=paths,
    )
    archive: WarcArchive = backend("archive", settings.archive, home, options)
    return archive


def _archived_at(records: Records, capture_id: str) -> Place | None:
    """Where a capture lies in a WARC of ours."""
    row = next(records.find(CdxRow, {"capture_id": capture_id}, count_max=1), None)
    if row is None:
        return None
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def open_web(settings: Settings) -> Any:
    """What asks for sources over the web; users and passwords are those of `sources.logins`."""
    web = import_module("fonds.stores.archive.elsewhere.web")
    allowed = {"is_allowed": _any_address} if settings.elsewhere.private_addresses else {}
    return web.Web(credentials=credentials(settings.sources.logins.split()), **allowed)


def _any_address(address: str) -> bool:
    """Any address may be asked."""
    return True


def s3_objects(home: Path, settings: Settings) -> Callable[[], Any]:
    """What opens the objects of S3: once, and only when a place needs them if nobody set `elsewhere.s3_url`.

    Other processes can be sent it. Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used.
    """
    opened = partial(_opened_objects, settings.elsewhere.s3_url or "s3:", home)
    if settings.elsewhere.s3_url:
        opened()
    return opened


@cache
def _opened_objects(url: str, home: Path) -> Any:
    return backend("s3_url", url, home)


def marking(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """What marks in texts what a query looks for, as `stores/index/passages.py` says."""
    from fonds.stores.index.passages import marking

    return marking(query, language)


def asks_for_versions(text: str) -> bool:
    """Whether a query has `version:all` in it: words of earlier versions of a story count then."""
    from fonds.stores.index.query.parsing import asks_for_versions

    return asks_for_versions(text)


def found_among(documents: Sequence[IndexDocument], query: SearchQuery) -> set[str]:
    """The ids of those of a few documents that a query finds, whatever the index; no store is touched."""
    from fonds.stores.index.tantivy_results import found_among

    return found_among(documents, query)


def completing(
    index: Index,
    themes: Callable[[], Iterator[NamedTheme]],
    names: Callable[[str, str], str],
    chars_max: int,
) -> Completes:
    """What completes searches of an index, of at most `chars_max` characters. `names` gives how people call a
    value of a field, which is itself where they have no other name for it."""
    from fonds.stores.index.query.offering import Offering
    from fonds.stores.index.query.values import Library

    return Offering(Library(index, themes, names), chars_max)


def now() -> datetime:
    """The clock everything is given: aware UTC."""
    return datetime.now(UTC)
