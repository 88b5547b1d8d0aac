"""Names of collections, configurations, documents and leases, with their validation.

The name of a collection is written `NAMESPACE/KEY`. In a namespace, a slash is written `%2F` and a
percent sign `%25`. A key is written unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.grouping.stored.keys import build_collection_row, build_document_row

DEFAULT = "DEFAULT"
PART_MAX_CHARS = 250
ID_MAX_CHARS = 1000
DOT_SEGMENTS = frozenset({".", ".."})
"""URL path segments that HTTP clients resolve (RFC 3986, section 5.2.4).

They do so even if the segments are percent-encoded.
"""
UNCLUSTERED = "unclustered"
_LEVEL = "@"
_ESCAPED = re.compile("%(25|2F)", re.IGNORECASE)
CONFIGURATION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, order=True)
class CollectionName:
    """Name of a collection of documents: a namespace, and a key that is unique within it.

    As text, it is written `NAMESPACE/KEY`.
    """

    namespace: str
    key: str

    def __str__(self) -> str:
        namespace = self.namespace.replace("%", "%25").replace("/", "%2F")
        return f"{namespace}/{self.key}"

    @property
    def row(self) -> bytes:
        """Row key of the collection, which is a prefix of the row keys of its documents.

        It is computed by the function f3 of Grouperfish's HBase layout."""
        return build_collection_row(self.namespace, self.key)

    def build_document_row(self, document_id: str) -> bytes:
        """Return the row key of a document of this collection in the table `documents`.

        It is computed by the function f1 of Grouperfish's HBase layout."""
        return build_document_row(self.namespace, self.key, document_id)


def parse(text: str) -> CollectionName:
    """Parse and validate the name of a collection, written `NAMESPACE/KEY`.

    Raises ValueError if the slash is missing, or the namespace or key is invalid.
    """
    if "/" not in text:
        raise ValueError(f"write the collection as NAMESPACE/KEY, not {text!r}")
    return validate_name(split_key(text))


def split_key(text: str) -> CollectionName:
    """Split a collection name, written `NAMESPACE/KEY`, at the first slash, without validation.

    `%2F` and `%25` in the namespace are decoded.
    """
    namespace, _, key = text.partition("/")
    return CollectionName(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), namespace), key)


def validate_name(name: CollectionName) -> CollectionName:
    """Return the name of a collection unchanged if it is valid.

    Raises ValueError if the namespace or key is empty, longer than 250 characters, `.` or `..`, or
    cannot be encoded as UTF-8.
    """
    for part_name, part in (("namespace", name.namespace), ("key", name.key)):
        _check(f"the {part_name} of a collection", part, PART_MAX_CHARS)
    return name


def validate_conf(conf: str) -> str:
    """Return the name of a configuration unchanged if it is valid.

    A name has 1 to 100 ASCII letters, digits, `.`, `_` and `-`, and begins with a letter or digit.
    Raises ValueError for any other name.
    """
    if not CONFIGURATION_NAME.fullmatch(conf):
        raise ValueError(
            "a configuration's name can have up to 100 letters, digits, dots and dashes, "
            f"not {conf!r}"
        )
    return conf


def validate_id(document_id: str) -> str:
    """Return the id of a document unchanged if it is valid.

    Raises ValueError if it is empty, longer than 1,000 characters, `.` or `..`, or cannot be
    encoded as UTF-8.
    """
    return _check("the id of a document", document_id, ID_MAX_CHARS)


def build_level_conf(conf: str, level: int) -> str:
    """Return the configuration part of the row keys of one level (granularity) of a clustering.

    It is the configuration's name for the first level (0), and `NAME@1` for the second (1). In the
    tables, each level is therefore stored like a clustering of its own.
    """
    return conf if level == 0 else f"{conf}{_LEVEL}{level}"


def build_unclustered_conf(conf: str) -> str:
    """Return the configuration part of the row keys of unclustered documents: `NAME@unclustered`.

    Unclustered documents are those in no cluster of a clustering.
    """
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
    """Return the name of the lease that a process must hold to change a collection."""
    return f"collection {name}"


def name_rebuild_lease(name: CollectionName, conf: str) -> str:
    """Return the name of the lease for a rebuild of a collection by one configuration."""
    return f"rebuild {name} {conf}"
