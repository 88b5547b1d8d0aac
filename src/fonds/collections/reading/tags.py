"""The clusters documents carry as tags: those of the configuration `DEFAULT`, as their own rows say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fonds.collections.documents import member_of
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading.clusterings import served_timestamp
from fonds.collections.reading.curated import names_of_labels
from fonds.collections.tables import DOCUMENTS, Tables, text


@dataclass(frozen=True, slots=True)
class Tag:
    """A document is in the cluster of this label; `called`: the name a person gave that, '' where nobody
    did."""

    name: Name
    label: str
    called: str = ""


def tags(
    tables: Tables, names: Sequence[Name], document_ids: Sequence[str]
) -> Mapping[str, list[Tag]]:
    """The tags of documents in these collections, by their id, collections in the order given; who has
    none is absent. Read at once: as many rows as names times ids, whose number the caller bounds."""
    asked = {name.document(id_): (name, id_) for id_ in document_ids for name in names}
    column = member_of(DEFAULT)
    rows = tables.rows(DOCUMENTS, list(asked), [column])
    found: dict[str, list[Tag]] = {}
    for row, (name, id_) in asked.items():
        if label := text(rows.get(row), column):
            found.setdefault(id_, []).append(Tag(name, label))
    return _named(tables, found)


def _named(tables: Tables, found: Mapping[str, list[Tag]]) -> dict[str, list[Tag]]:
    """The same with the names themes were given."""
    labels: dict[Name, set[str]] = {}
    for tag in (one for some in found.values() for one in some):
        labels.setdefault(tag.name, set()).add(tag.label)
    names = {
        name: names_of_labels(tables, name, DEFAULT, served_timestamp(tables, name) or 0, some)
        for name, some in labels.items()
    }
    return {
        id_: [replace(one, called=names[one.name].get(one.label, "")) for one in some]
        for id_, some in found.items()
    }
