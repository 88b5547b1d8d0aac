"""Names of collections, configurations and clusters, and how a person writes them: `NAMESPACE/KEY`.

A slash in a namespace is written `%2F`, a percent sign `%25`; a key is written as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.formats.grouping.keys import collection_row, document_row

DEFAULT = "DEFAULT"
PART_CHARACTERS_MAX = 250
ID_CHARACTERS_MAX = 1000
DOT_SEGMENTS = frozenset({".", ".."})
"""Parts of a path that clients resolve, percent-encoded or not (RFC 3986, section 5.2.4)."""
APART = "apart"
_LEVEL = "@"
_ESCAPED = re.compile("%(25|2F)", re.IGNORECASE)
_CONF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A collection by its namespace and key."""

    namespace: str
    key: str

    def __str__(self) -> str:
        namespace = self.namespace.replace("%", "%25").replace("/", "%2F")
        return f"{namespace}/{self.key}"

    @property
    def row(self) -> bytes:
        """f3: its row, and the prefix of all its documents and clusters."""
        return collection_row(self.namespace, self.key)

    def document(self, document_id: str) -> bytes:
        """f1: the row of one of its documents."""
        return document_row(self.namespace, self.key, document_id)


def parse(text: str) -> Name:
    """The collection a person names. Raises ValueError with a sentence."""
    if "/" not in text:
        raise ValueError(f"write the collection as NAMESPACE/KEY, not {text!r}")
    return checked(split(text))


def split(text: str) -> Name:
    """The parts of `NAMESPACE/KEY`, not checked."""
    namespace, _, key = text.partition("/")
    return Name(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), namespace), key)


def checked(name: Name) -> Name:
    """The name itself. Raises ValueError for an empty or long part, what UTF-8 cannot hold, `.` and `..`."""
    for what, part in (("namespace", name.namespace), ("key", name.key)):
        _check(f"the {what} of a collection", part, PART_CHARACTERS_MAX)
    return name


def checked_conf(conf: str) -> str:
    """The name of a configuration. Raises ValueError for other than letters, digits, `.`, `_` and `-`."""
    if not _CONF.fullmatch(conf):
        raise ValueError(
            f"a configuration's name has up to 100 letters, digits, dots, dashes: {conf!r}"
        )
    return conf


def checked_id(document_id: str) -> str:
    """The id of a document. Raises ValueError for an empty one, a long one, `.` and `..`."""
    return _check("the id of a document", document_id, ID_CHARACTERS_MAX)


def level_conf(conf: str, level: int) -> str:
    """What stands for the configuration in the rows of a level: its name for the first, `NAME@1` for the
    second; each level is a clustering of its own by its keys."""
    return conf if level == 0 else f"{conf}{_LEVEL}{level}"


def apart_conf(conf: str) -> str:
    """What stands for the configuration in the rows of documents that are in no cluster."""
    return f"{conf}{_LEVEL}{APART}"


def _check(what: str, text: str, most: int) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is no text UTF-8 can hold: {text!r}") from error
    if not 0 < len(text) <= most:
        raise ValueError(f"{what} has 1 to {most:,} characters, not {len(text):,}")
    if text in DOT_SEGMENTS:
        raise ValueError(f"{what} cannot be {text!r}: no address can hold it")
    return text


def claim_of_collection(name: Name) -> str:
    """What the claim of a change of a collection is called."""
    return f"collection {name}"


def claim_of_rebuild(name: Name, conf: str) -> str:
    """What the claim of a rebuild is called."""
    return f"rebuild {name} {conf}"
