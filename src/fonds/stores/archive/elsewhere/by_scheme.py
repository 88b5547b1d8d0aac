"""Bodies at places on no disk of this machine: behind URLs, in web archives, in petabox items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fonds.formats.warc import read_record
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.model.secrets import without_secrets
from fonds.stores.archive.elsewhere.http_files import HttpFiles
from fonds.stores.archive.elsewhere.ranges import Remote, open_ranges
from fonds.stores.archive.elsewhere.replays import Replays, item_url
from fonds.stores.archive.elsewhere.web import Web

RANGE_SLACK_BYTES = 32 * 1024 * 1024

OpenRemote = Callable[[], Remote]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Reads by the scheme of a place's URL. `remotes` open what stands behind a scheme, when first needed.

    At most `slack_bytes` more than a body's limit are fetched for one WARC record.
    """

    remotes: Mapping[str, OpenRemote]
    replays: Replays
    petabox_url: str = ""
    slack_bytes: int = RANGE_SLACK_BYTES

    def holds(self, place: Place) -> bool:
        """Whether a place is read here, and not as a path of this machine."""
        return place.kind in (PlaceKind.REPLAY, PlaceKind.PETABOX) or (
            _scheme(place.path) in self.remotes
        )

    def read(self, place: Place, body_max_bytes: int) -> Payload:
        """The body. Errors as the port Archive says; messages need not name the place."""
        if place.kind is PlaceKind.REPLAY:
            return self.replays.read(place.path, body_max_bytes)
        if place.kind is PlaceKind.PETABOX:
            return self._whole(item_url(self.petabox_url, place.path), body_max_bytes)
        if place.kind is PlaceKind.FILE:
            return self._whole(place.path, body_max_bytes)
        if place.kind is PlaceKind.WARC:
            return self._record(place, body_max_bytes)
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "members of ZIP files cannot be read from a URL; download it first",
        )

    def _whole(self, url: str, body_max_bytes: int) -> Payload:
        return Payload(self._remote(url).whole(url, body_max_bytes))

    def _record(self, place: Place, body_max_bytes: int) -> Payload:
        bytes_max = body_max_bytes + self.slack_bytes
        remote = self._remote(place.path)
        with open_ranges(
            remote, place.path, place.offset, place.size_bytes, bytes_max=bytes_max
        ) as stream:
            return read_record(stream, place.offset, body_max_bytes=body_max_bytes)

    def _remote(self, url: str) -> Remote:
        try:
            return self.remotes[_scheme(url)]()
        except KeyError:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"nothing reads URLs like {without_secrets(url)[:200]!r}"
            ) from None
        except ConfigurationError as error:
            # One place that needs a library is no reason to stop what all others need.
            raise PermanentError(Reason.UNREADABLE_SOURCE, str(error)) from error


def elsewhere(
    web: Web, others: Mapping[str, OpenRemote], replay_url: str, petabox_url: str
) -> Elsewhere:
    """What there is: http and https over `web`, and `others` by their schemes."""
    files = HttpFiles(web)
    remotes: dict[str, OpenRemote] = {"http": lambda: files, "https": lambda: files, **others}
    return Elsewhere(remotes, Replays(web, replay_url), petabox_url)


def _scheme(path: str) -> str:
    scheme, mark, _ = path.partition("://")
    return scheme.lower() if mark else ""
