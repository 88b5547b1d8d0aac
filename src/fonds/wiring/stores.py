"""Maps URL schemes to storage backends, and opens and closes the stores of a library (home)."""

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
from typing import TYPE_CHECKING, Any

from fonds.archive.store.body_sources import BodyCache, LayeredArchive, SpooledBodies
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.warc_names import WarcNames, list_paths
from fonds.config import PORTS, Settings
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.capture import Place, PlaceKind
from fonds.model.completion import NamedTheme
from fonds.model.credentials import collect_credentials
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError, FondsError, PermanentError
from fonds.model.keys import THUMBNAIL_FOLDER
from fonds.model.message import Subscription
from fonds.model.optional_libraries import build_missing_extra_error
from fonds.model.rows import CdxRow
from fonds.model.search import SearchQuery
from fonds.model.secrets import redact_secrets, strip_credentials
from fonds.model.step import Pipeline
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.flavours.papers import add_papers
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.pipelines.runtime.binding import build_subscriptions, list_public_topics, name_topic
from fonds.ports import Blobs, Index, QueryCompleter, Records, Stores, Table, WarcArchive
from fonds.ports.stores import close
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.messages.contracts import CONTRACTS
from fonds.queues.messages.large_field import LargeField
from fonds.search.index.version_search import VersionedIndex
from fonds.search.index.wrappers import EmbargoFilterIndex
from fonds.stores.home_lock import create_home
from fonds.stores.journal_table.keys import name_journal_table
from fonds.stores.journal_table.schema import build_journal_schema
from fonds.stores.split_blobs import SplitBlobs

if TYPE_CHECKING:
    from fonds.fetching.service_client import ServiceClient


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """Backend of one URL scheme.

    - `opener`: module and name of the callable that opens the backend.
    - `is_below_home`: whether the URL is a path below the library folder (home). The callable then
      receives that path instead of the URL.
    - `is_shared`: whether several processes on any machine may use the backend at the same time.
    - `is_exclusive`: whether only one process may use the backend, because other processes cannot
      see the data of that process.
    - `extra`: the optional dependency group (extra) that installs the library of the backend.
    """

    opener: str
    is_below_home: bool = False
    is_shared: bool = True
    is_exclusive: bool = False
    extra: str = ""


BLOBS = {
    "local": BackendSpec(
        "fonds.stores.local_blobs:LocalBlobs", is_below_home=True, is_shared=False
    ),
    "file": BackendSpec("fonds.stores.blobs:FolderBlobs", is_below_home=True),
    "s3": BackendSpec("fonds.stores.s3.blobs:S3Blobs", extra="s3"),
}
BACKENDS: dict[str, dict[str, BackendSpec]] = {
    "queue": {
        "sqlite": BackendSpec(
            "fonds.queues.sqlite:SqliteQueue", is_below_home=True, is_shared=False
        ),
        "amqp": BackendSpec("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "amqps": BackendSpec("fonds.queues.rabbit.queue:RabbitQueue", extra="rabbitmq"),
        "kafka": BackendSpec("fonds.queues.kafka.queue:KafkaQueue", extra="kafka"),
    },
    "table": {
        "sqlite": BackendSpec(
            "fonds.stores.table.sqlite:SqliteTable", is_below_home=True, is_shared=False
        ),
        "hbase": BackendSpec("fonds.stores.table.hbase:HbaseTable", extra="hbase"),
    },
    "records": {
        "sqlite": BackendSpec(
            "fonds.stores.records.sql:open_sqlite", is_below_home=True, is_shared=False
        ),
        "postgresql": BackendSpec("fonds.stores.records.sql:SqlRecords", extra="postgresql"),
    },
    "blobs": BLOBS,
    "thumbnails": BLOBS,
    "index": {
        "tantivy": BackendSpec(
            "fonds.search.index.tantivy_index:TantivyIndex", is_below_home=True, is_shared=False
        ),
        "elasticsearch": BackendSpec(
            "fonds.search.index.elastic_index:open_elasticsearch", extra="elasticsearch"
        ),
        "opensearch": BackendSpec(
            "fonds.search.index.elastic_index:open_opensearch", extra="opensearch"
        ),
    },
    "archive": {
        "file": BackendSpec("fonds.archive.store.folder:FolderArchive", is_below_home=True),
        "s3": BackendSpec("fonds.archive.store.s3:S3Archive", extra="s3"),
    },
    "s3_url": {"s3": BackendSpec("fonds.stores.s3.objects:S3Objects", extra="s3")},
}


def open_backend(port: str, url: str, home: Path, *options: object) -> Any:
    """Open the backend of a store by its URL.

    `port`: name of the store, such as `queue` or `records`.
    `options`: further arguments, passed to the backend after the URL.

    Raises ConfigurationError for an unknown URL scheme, and if the library of the backend is not
    installed.
    """
    backend = _find_backend(port, url)
    module, _, name = backend.opener.partition(":")
    try:
        opener: Callable[..., Any] = getattr(import_module(module), name)
        # Some modules import their library only when they are opened.
        return opener(home / url.partition(":")[2] if backend.is_below_home else url, *options)
    except ModuleNotFoundError as error:
        if not backend.extra:
            raise
        raise build_missing_extra_error(
            f"{port} = {redact_secrets(url)!r}", backend.extra, error.name
        ) from error


def _find_backend(port: str, url: str) -> BackendSpec:
    scheme, backends = url.partition(":")[0], BACKENDS[port]
    if scheme not in backends:
        raise ConfigurationError(
            f"{port} = {redact_secrets(url)!r}: {format_unknown_name('backend', scheme, sorted(backends))}"
        )
    return backends[scheme]


def are_stores_shared(settings: Settings) -> bool:
    """Return whether several processes on any machine may use all configured stores at the same
    time.
    """
    return are_ports_shared(settings, PORTS)


def are_ports_shared(settings: Settings, ports: Iterable[str]) -> bool:
    """Return whether several processes on any machine may use these stores at the same time.

    `ports` are names of stores, such as `queue` or `records`.
    """
    return all(_find_backend(port, getattr(settings, port)).is_shared for port in ports)


def list_concurrent_stages(settings: Settings) -> list[str]:
    """List the pipeline stages that several processes of this machine may run at the same time.

    Stages that work on many messages at once are left out. Stages that write to the full-text index
    are left out unless several processes may use the index. The list is empty if only one process
    may use a configured store.
    """
    if any(_find_backend(port, getattr(settings, port)).is_exclusive for port in PORTS):
        return []
    several = _find_backend("index", settings.index).is_shared
    stages = get_configured_pipeline(settings).stages
    return [
        stage.name for stage in stages if (several or not stage.indexes) and not stage.is_concurrent
    ]


def build_topic_prefix(settings: Settings) -> str:
    """Return the prefix of all topic names in the queue: `{topic_group}-{env}` of the settings."""
    return f"{settings.topic_group or settings.group}-{settings.env}"


def get_configured_pipeline(settings: Settings) -> Pipeline:
    """Return the configured pipeline. Raises ConfigurationError if its name is unknown."""
    return get_pipeline(settings.pipeline, settings)


def get_pipeline(name: str, settings: Settings) -> Pipeline:
    """Return the pipeline flavour with this name, adapted to the settings for papers and
    thumbnails.

    Raises ConfigurationError if the name is unknown.
    """
    if name not in PIPELINES:
        raise ConfigurationError(format_unknown_name("pipeline", name, PIPELINES))
    concurrent_requests = settings.grobid.at_once if settings.grobid.url else 0
    return add_papers(
        PIPELINES[name](list_extra_thumbnails(settings)), concurrent_requests, match=settings.match
    )


def list_extra_thumbnails(settings: Settings) -> tuple[str, ...]:
    """Return the configured thumbnail formats, without the default one."""
    return tuple(word.strip() for word in settings.pdf.more_thumbnails.split(",") if word.strip())


def list_readers(settings: Settings, pipeline: str = "") -> list[Subscription]:
    """Return the subscriptions of a pipeline in stage order. The default is the configured
    pipeline.
    """
    pipeline_flavour = get_pipeline(pipeline or settings.pipeline, settings)
    return build_subscriptions(pipeline_flavour, build_topic_prefix(settings))


def open_queue(home: Path, settings: Settings) -> LargeBodies:
    """Open the queue without the other stores. Creates the topics and addresses of the configured
    pipeline.

    Message bodies that are too large for the queue are stored as blobs.
    """
    create_home(home)
    queue = open_backend("queue", settings.queue, home)
    blobs = _open_blobs(home, settings)
    pipeline, prefix = get_configured_pipeline(settings), build_topic_prefix(settings)
    public = list_public_topics(pipeline, prefix)
    limits = BodyLimits(settings.message_max_bytes, settings.topic_message_max_bytes)
    large_bodies = LargeBodies(queue, blobs, limits, list_large_fields(pipeline, prefix))
    large_bodies.declare(list_readers(settings), public)
    return large_bodies


def _open_blobs(home: Path, settings: Settings) -> Blobs:
    blobs: Blobs = open_backend("blobs", settings.blobs, home)
    if not settings.thumbnails:
        return blobs
    return SplitBlobs(
        blobs, open_backend("thumbnails", settings.thumbnails, home), THUMBNAIL_FOLDER
    )


def list_large_fields(pipeline: Pipeline, prefix: str) -> dict[str, LargeField]:
    """Return, for each public topic, which field of its messages may be stored as a blob, by topic
    name.

    `prefix`: prefix of the topic names.

    Topics without such a field are left out.
    """
    topics = {topic for stage in pipeline.stages for topic in stage.writes if topic.public}
    contracts = {name_topic(pipeline, topic, prefix): CONTRACTS[topic.payload] for topic in topics}
    return {
        name: contract.large_field for name, contract in contracts.items() if contract.large_field
    }


def open_index(home: Path, settings: Settings, table: Table | None = None) -> Index:
    """Open the full-text index without the other stores, for searching.

    `table` is the table store in which themes of collections are looked up. With None, it is opened
    for each lookup.
    """
    from fonds.search.index.wrappers import ThemedIndex

    def list_documents(theme_name: str) -> list[str]:
        from fonds.grouping.tables import Tables
        from fonds.grouping.views.themes import list_theme_documents

        opened_table = table or open_backend("table", settings.table, home)
        try:
            return list_theme_documents(
                Tables(opened_table, settings.collections.prefix), theme_name
            )
        finally:
            if table is None:
                close(opened_table)

    return ThemedIndex(open_backend("index", settings.index, home), list_documents)


def open_stores(home: Path, settings: Settings) -> Stores:
    """Open all stores of a library. Creates missing stores, and migrates those of older versions.

    Raises ConfigurationError for a store that cannot be opened.
    """
    queue = open_queue(home, settings)
    records = open_backend("records", settings.records, home)
    archive = _open_bare_archive(home, settings, lambda: records)
    limit_bytes = max(settings.pdf.max_bytes, settings.page.max_bytes)
    spooled_bodies = SpooledBodies(
        archive, queue.blobs, partial(_find_archived_place, records), limit_bytes
    )
    table = open_backend("table", settings.table, home)
    stores = Stores(
        queue=queue,
        table=table,
        records=records,
        ledger=records.ledger,
        blobs=queue.blobs,
        index=_build_visible_index(open_index(home, settings, table), records, queue.blobs),
        archive=LayeredArchive(archive, BodyCache(spooled_bodies)),
        journal=name_journal_table(settings.group, settings.table_version, settings.env),
    )
    schema = build_journal_schema(settings.table_families)
    stores.table.declare(stores.journal, schema.names, compressions=schema.compressions)
    return stores


def create_warc_names(stores: Stores) -> WarcNames:
    """Create the service that finds the name of a WARC from its path, and stores which paths a name
    has.
    """
    return WarcNames(stores.records, stores.archive, get_utc_now)


def close_stores(stores: Stores) -> None:
    """Close the stores of a library: release leased messages, close files and connections."""
    close(stores.queue, stores.table, stores.records, stores.blobs, stores.index, stores.archive)


def set_index_aside(stores: Stores, home: Path, settings: Settings) -> tuple[Stores, Path]:
    """Rename the folder of a damaged full-text index, and open an empty index at the old path.

    Returns the stores with the empty index, and the new path of the damaged one. Raises
    ConfigurationError if the index is not a folder on this machine, or cannot be renamed.
    """
    if not _find_backend("index", settings.index).is_below_home:
        raise ConfigurationError(
            f"index = {redact_secrets(settings.index)!r} is not a folder that can be "
            "moved. Empty it yourself, then run `fonds reindex` again."
        )
    folder = home / settings.index.partition(":")[2]
    names = (folder.with_name(f"{folder.name}.damaged-{number}") for number in count(1))
    new_path = next(path for path in names if not os.path.lexists(path))
    with suppress(FondsError):
        # Closing a damaged index may fail, but its lock is released anyway.
        close(stores.index)
    try:
        folder.rename(new_path)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot move {folder} to {new_path} ({error.strerror}). Move it yourself, "
            "then run `fonds reindex` again."
        ) from error
    empty_index = open_index(home, settings, stores.table)
    return replace(
        stores, index=_build_visible_index(empty_index, stores.records, stores.blobs)
    ), new_path


def _build_visible_index(index: Index, records: Records, blobs: Blobs) -> Index:
    """Wrap a full-text index so that it leaves out files under embargo, and also searches earlier
    versions of stories.
    """
    find_hidden = partial(find_active_embargoes, records)
    return EmbargoFilterIndex(VersionedIndex(index, blobs, find_hidden), find_hidden)


def open_archive(home: Path, settings: Settings) -> WarcArchive:
    """Open the archive of WARCs of a library, without the spool of fetched pages.

    Nothing is written before the first body.
    """
    # The records are opened only to find WARCs of other people by name, which is rare.
    archive = _open_bare_archive(
        home, settings, cache(lambda: open_backend("records", settings.records, home))
    )
    return LayeredArchive(archive, BodyCache(archive))


def _open_bare_archive(
    home: Path, settings: Settings, records: Callable[[], Records]
) -> WarcArchive:
    base = strip_credentials(settings.warc.base)

    def iter_paths(name: str) -> Iterator[str]:
        # Imported here because most commands look for no WARC file.
        from fonds.ingest.sources.indexes import list_paths_in_folder

        try:
            recorded_paths, ambiguity = list_paths(records(), name), None
        except PermanentError as error:
            recorded_paths, ambiguity = (), error
        yield from recorded_paths
        yield from list_paths_in_folder(base, name)
        if ambiguity is not None:
            raise ambiguity

    elsewhere_settings = settings.elsewhere
    options = ArchiveOptions(
        prefix=settings.warc.prefix,
        agent=settings.fetch.user_agent,
        version=f"WARC/{settings.warc.version}",
        is_for_media_cloud=settings.warc.form == "mediacloud",
        stories_max=settings.warc.stories_max,
        file_max_bytes=settings.warc.max_bytes,
        body_max_bytes=max(settings.pdf.max_bytes, settings.page.max_bytes),
        waiting_folder=home / "archive",
        waiting_max_bytes=settings.warc.waiting_max_bytes,
        allows_private_addresses=elsewhere_settings.private_addresses,
        remotes={"s3": create_s3_opener(home, settings)},
        replay_url=strip_credentials(elsewhere_settings.replay_url),
        petabox_url=strip_credentials(elsewhere_settings.petabox_url),
        credentials=collect_credentials(
            (settings.warc.base, elsewhere_settings.replay_url, elsewhere_settings.petabox_url)
        ),
        list_paths=iter_paths,
    )
    archive: WarcArchive = open_backend("archive", settings.archive, home, options)
    return archive


def _find_archived_place(records: Records, capture_id: str) -> Place | None:
    """Return the location of a capture in a WARC, from `cdx`; None if it has no row.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    row = next(records.find(CdxRow, {"capture_id": capture_id}, count_max=1), None)
    if row is None:
        return None
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def create_service_client(settings: Settings) -> ServiceClient:
    """Create the HTTP client for inputs at URLs, with the credentials in `sources.logins`."""
    from fonds.fetching.addresses import choose_address_check
    from fonds.fetching.service_client import ServiceClient  # loads urllib3

    credentials = collect_credentials(settings.sources.logins.split())
    is_allowed = choose_address_check(allows_private=settings.elsewhere.private_addresses)
    return ServiceClient(is_allowed, credentials=credentials)


def create_s3_opener(home: Path, settings: Settings) -> Callable[[], Any]:
    """Return a function that opens the S3 client on first use and then returns it.

    If `elsewhere.s3_url` is set, the client is opened at once. The function can be sent to other
    processes. Raises ConfigurationError for an `elsewhere.s3_url` that cannot be used.
    """
    opener = partial(_open_s3_objects, settings.elsewhere.s3_url or "s3:", home)
    if settings.elsewhere.s3_url:
        opener()
    return opener


@cache
def _open_s3_objects(url: str, home: Path) -> Any:
    return open_backend("s3_url", url, home)


def build_marker(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """Return a function that finds the matches of a query in a text, as (start, end) character
    offsets.

    `language`: language of the text, for inflected forms of words; None if unknown.

    Raises QueryError if the query cannot be parsed. The function is that of
    `fonds.search.index.passages`.
    """
    from fonds.search.index.passages import build_marker

    return build_marker(query, language)


def match_documents(documents: Sequence[IndexDocument], query: SearchQuery) -> set[str]:
    """Return the ids of those documents that match a query, without using any store."""
    from fonds.search.index.tantivy_results import match_documents

    return match_documents(documents, query)


def create_completer(
    index: Index,
    themes: Callable[[], Iterator[NamedTheme]],
    names: Callable[[str, str], str],
    max_chars: int,
) -> QueryCompleter:
    """Create the completer, which suggests how to continue a search that a user is typing.

    `themes`: returns the themes of collections that can be suggested.
    `names`: returns the display name of a value of a search field, given field and value. It is the
        value itself if there is no other name.
    `max_chars`: maximum length of a search.
    """
    from fonds.search.index.field_values import ValueLibrary
    from fonds.search.index.wrappers import IndexQueryCompleter

    return IndexQueryCompleter(ValueLibrary(index, themes, names), max_chars)


def get_utc_now() -> datetime:
    """Return the current time as aware UTC. Steps and services receive this function as their
    clock.
    """
    return datetime.now(UTC)


# Opening the table store without the other stores.


def open_table(home: Path, settings: Settings, name: str | None = None) -> Table:
    """Open the table store without the other stores.

    Creates the journal table if it does not exist, unless `name` is another table.
    """
    create_home(home)
    table: Table = open_backend("table", settings.table, home)
    if name in (None, name_journal(settings)):
        schema = build_journal_schema(settings.table_families)
        table.declare(name_journal(settings), schema.names, compressions=schema.compressions)
    return table


def name_journal(settings: Settings) -> str:
    """Return the configured name of the journal table, which has one wide row per file."""
    return name_journal_table(settings.group, settings.table_version, settings.env)
