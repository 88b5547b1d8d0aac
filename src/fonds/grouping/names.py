"""Names of collections, configurations and clusters, and their written form `NAMESPACE/KEY`.

In a namespace, a slash is written `%2F` and a percent sign `%25`; a key is written unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.grouping.stored.keys import build_collection_row, build_document_row

DEFAULT = "DEFAULT"
PART_MAX_CHARS = 250
ID_MAX_CHARS = 1000
DOT_SEGMENTS = frozenset({".", ".."})
"""Path segments that clients resolve, percent-encoded or not (RFC 3986, section 5.2.4)."""
UNCLUSTERED = "unclustered"
_LEVEL = "@"
_ESCAPED = re.compile("%(25|2F)", re.IGNORECASE)
_CONF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, order=True)
class CollectionName:
    """Name of a collection: namespace and key."""

    namespace: str
    key: str

    def __str__(self) -> str:
        namespace = self.namespace.replace("%", "%25").replace("/", "%2F")
        return f"{namespace}/{self.key}"

    @property
    def row(self) -> bytes:
        """Row key of the collection (f3), and prefix of all its documents and clusters."""
        return build_collection_row(self.namespace, self.key)

    def build_document_row(self, document_id: str) -> bytes:
        """Return the row key of one of its documents (f1)."""
        return build_document_row(self.namespace, self.key, document_id)


def parse(text: str) -> CollectionName:
    """Parse the name of a collection, written `NAMESPACE/KEY`.

    Raises ValueError without a slash, or if the namespace or the key is invalid.
    """
    if "/" not in text:
        raise ValueError(f"write the collection as NAMESPACE/KEY, not {text!r}")
    return validate_name(split_key(text))


def split_key(text: str) -> CollectionName:
    """Split `NAMESPACE/KEY` without validation."""
    namespace, _, key = text.partition("/")
    return CollectionName(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), namespace), key)


def validate_name(name: CollectionName) -> CollectionName:
    """Return the name.

    Raises ValueError for an empty or long part, `.` and `..`, and what UTF-8 cannot encode.
    """
    for part_name, part in (("namespace", name.namespace), ("key", name.key)):
        _check(f"the {part_name} of a collection", part, PART_MAX_CHARS)
    return name


def validate_conf(conf: str) -> str:
    """Return the name of a configuration.

    Raises ValueError for other than letters, digits, `.`, `_` and `-`.
    """
    if not _CONF.fullmatch(conf):
        raise ValueError(
            "a configuration's name can have up to 100 letters, digits, dots and dashes, "
            f"not {conf!r}"
        )
    return conf


def validate_id(document_id: str) -> str:
    """Return the id of a document. Raises ValueError for an empty or long one, `.` and `..`."""
    return _check("the id of a document", document_id, ID_MAX_CHARS)


def build_level_conf(conf: str, level: int) -> str:
    """Return the configuration part of the row keys of a level.

    This is the name for the first level, `NAME@1` for the second. By its keys, each level is a
    separate clustering.
    """
    return conf if level == 0 else f"{conf}{_LEVEL}{level}"


def build_unclustered_conf(conf: str) -> str:
    """Return the configuration part of the row keys of unclustered documents."""
    return f"{conf}{_LEVEL}{UNCLUSTERED}"


def _check(noun: str, text: str, count_max: int) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{noun} is not valid UTF-8: {text!r}") from error
    if not 0 < len(text) <= count_max:
        raise ValueError(f"{noun} must have 1 to {count_max:,} characters, not {len(text):,}")
    if text in DOT_SEGMENTS:
        raise ValueError(f"{noun} cannot be {text!r}, because a URL cannot contain it")
    return text


def name_collection_lease(name: CollectionName) -> str:
    """Return the name of the lease for changing a collection."""
    return f"collection {name}"


def name_rebuild_lease(name: CollectionName, conf: str) -> str:
    """Return the name of the lease for a rebuild."""
    return f"rebuild {name} {conf}"
