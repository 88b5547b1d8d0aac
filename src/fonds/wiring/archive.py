"""Open the archive of WARCs, and create clients for files on other machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fonds.archive.store.body_sources import BodyCache, LayeredArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.warc_names import list_paths
from fonds.config import Settings
from fonds.model.credentials import collect_credentials
from fonds.model.errors import PermanentError
from fonds.model.secrets import strip_credentials
from fonds.ports import Records, WarcArchive
from fonds.wiring.backends import open_backend

if TYPE_CHECKING:
    from fonds.fetching.service_client import ServiceClient


def open_archive(home: Path, settings: Settings) -> WarcArchive:
    """Open the archive of WARCs of a library, without the spool of fetched pages.

    Nothing is written before the first body.
    """
    # The records are opened only to find WARCs of other people by name, which is rare.
    archive = open_bare_archive(
        home, settings, cache(lambda: open_backend("records", settings.records, home))
    )
    return LayeredArchive(archive, BodyCache(archive))


def open_bare_archive(
    home: Path, settings: Settings, records: Callable[[], Records]
) -> WarcArchive:
    """Open the archive of WARCs without a cache of bodies.

    `records`: returns the SQL rows, which have the paths of WARCs by name. It is called for WARCs
    that Fonds did not write.
    """
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
