"""Schema of the journal-extract table: column families, columns, cell types and compression.

One version of each cell is kept. Source: seed document 000, "PDF Table".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl, urlsplit

from fonds.model.errors import ConfigurationError
from fonds.model.suggestions import format_unknown_name
from fonds.stores.journal_table.keys import REGIONS_MAX, split_keys

SNAPPY = "SNAPPY"
FAMILIES_MAX = 16
COLUMNS_MAX = 200
_NAME = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_FAMILY = re.compile(
    rf"(?P<name>{_NAME})(?:\+(?P<compression>[A-Z0-9]{{2,16}}))?(?:=(?P<columns>\S+))?"
)
_COLUMN = re.compile(rf"(?P<name>{_NAME})(?::(?P<type>[a-z]{{1,16}}))?")


class CellType(StrEnum):
    """Encoding of a cell of the journal-extract table: UTF-8 text, JSON, XML, or a signed 8-byte
    big-endian integer.
    """

    TEXT = "text"
    JSON = "json"
    XML = "xml"
    INTEGER = "integer"


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a column family of the journal-extract table.

    `is_large`: the column's cells may have megabytes; they are read only on request.
    """

    name: str
    type: CellType = CellType.TEXT
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Column family of an HBase table.

    `compression`: HBase's name of the compression, such as SNAPPY; "" for the compression that the
        table's URL sets.
    """

    name: str
    columns: tuple[Column, ...]
    compression: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """Column families of a table. Use `build_schema` to create it, which checks that names are
    unique.
    """

    families: tuple[Family, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the table's column families."""
        return tuple(family.name for family in self.families)

    @property
    def columns(self) -> Mapping[str, Column]:
        """All columns of the table, by `family:name`."""
        return {
            f"{family.name}:{column.name}": column
            for family in self.families
            for column in family.columns
        }

    @property
    def compressions(self) -> Mapping[str, str]:
        """HBase's name of the compression by family name, for the families that set a
        compression.
        """
        return {family.name: family.compression for family in self.families if family.compression}

    def get_column(self, name: str) -> Column:
        """Return the column with the name `family:name`.

        Raises ConfigurationError if the column is unknown; the message suggests the nearest name.
        """
        if name not in self.columns:
            raise ConfigurationError(format_unknown_name("column", name, self.columns))
        return self.columns[name]


def build_schema(families: Sequence[Family]) -> Schema:
    """Build the schema of a table from column families.

    Raises ConfigurationError if there are more than 16 families or 200 columns, a family is
    declared twice, or a column name occurs twice, even in different families. Tools that flatten
    rows to plain column names would confuse equal names.
    """
    schema = Schema(tuple(families))
    _check_unique(schema.names, "the family {!r} is declared twice")
    if len(schema.families) > FAMILIES_MAX or len(schema.columns) > COLUMNS_MAX:
        raise ConfigurationError(
            f"a table has at most {FAMILIES_MAX} families and {COLUMNS_MAX} columns"
        )
    family_of: dict[str, str] = {}
    for family in schema.families:
        message = f"the family {family.name!r} has the column {{!r}} twice"
        _check_unique([column.name for column in family.columns], message)
        for column in family.columns:
            if (other_family := family_of.setdefault(column.name, family.name)) != family.name:
                raise ConfigurationError(
                    f"the column {column.name!r} is in the families {other_family!r} and {family.name!r};"
                    " rename one."
                )
    return schema


def _check_unique(names: Sequence[str], message: str) -> None:
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ConfigurationError(message.format(duplicate))


_INTEGER, _JSON = CellType.INTEGER, CellType.JSON

JOURNAL = build_schema(
    (
        Family("f", (Column("c", _JSON),)),
        Family(
            "file",
            (
                Column("size", _INTEGER),
                Column("mime"),
                Column("cdx", _JSON),
                Column("meta", _JSON),
            ),
        ),
        Family(
            "grobid0",
            (
                Column("status_code", _INTEGER),
                Column("quality"),
                Column("status", _JSON),
                Column("tei_xml", CellType.XML, is_large=True),
                Column("tei_json", _JSON, is_large=True),
                Column("metadata", _JSON, is_large=True),
            ),
            SNAPPY,
        ),
        Family(
            "bib0",
            (
                Column("bib_status", _JSON),
                Column("bib_quality"),
                Column("bib_json", _JSON, is_large=True),
                Column("bib_metadata", _JSON, is_large=True),
            ),
            SNAPPY,
        ),
        Family("match0", (Column("mstatus"), Column("doi"), Column("minfo", _JSON))),
    )
)
"""Schema of the journal-extract table: the column families of seed document 000, plus `bib0` for
the metadata that Fonds itself extracts from papers.
"""


def build_journal_schema(extra_families: str = "") -> Schema:
    """Build the schema of the journal-extract table with additional column families.

    `extra_families` has families separated by blanks, each `NAME[+COMPRESSION]=COLUMN[:TYPE],...`.
    For example, `pdf0=pdf_status,pdf_certainty:json grobid1+SNAPPY=status1:json,tei1:xml` declares
    two families. Raises ConfigurationError for invalid text or a name that already exists.
    """
    return build_schema((*JOURNAL.families, *_iter_extra_families(extra_families)))


def _iter_extra_families(text: str) -> Iterator[Family]:
    for word in text.split():
        match = _FAMILY.fullmatch(word)
        if match is None or match["columns"] is None:
            raise ConfigurationError(
                f"{word!r} is not a family. Write NAME=COLUMN,COLUMN:TYPE or NAME+SNAPPY=..."
            )
        columns = tuple(
            _parse_column(word, column_text) for column_text in match["columns"].split(",")
        )
        yield Family(match["name"], columns, match["compression"] or "")


def _parse_column(family: str, text: str) -> Column:
    match = _COLUMN.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{family!r}: {text!r} is not a column. Write NAME or NAME:TYPE.")
    types = [str(cell_type) for cell_type in CellType]
    if match["type"] is not None and match["type"] not in types:
        raise ConfigurationError(f"{family!r}: {format_unknown_name('type', match['type'], types)}")
    kind = CellType(match["type"] or "text")
    return Column(match["name"], kind, is_large=kind is CellType.XML)


# The HBase shell can set a table's regions; a Thrift server cannot.
#
# Source: HBase 2.6 reference guide, "Shell exercises" and "Pre-splitting".


_HBASE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")


def build_create_statement(
    table: str,
    families: Mapping[str, str | None],
    region_count: int,
    in_memory: Collection[str] = (),
) -> str:
    """Return the HBase shell command `create 'TABLE', {family}..., SPLITS => [...]` that creates a
    table.

    `families` maps each family name to its compression, None for no compression. `in_memory` has
    the names of families that the block cache should prefer. Raises ConfigurationError if `table`
    is not a valid HBase name.
    """
    if not _HBASE_NAME.fullmatch(table):
        raise ConfigurationError(f"{table!r} is not a valid HBase name")
    family_options = []
    for name, compression in families.items():
        options = f"NAME => '{name}', VERSIONS => 1, BLOOMFILTER => 'ROW', BLOCKCACHE => true"
        options += f", COMPRESSION => '{compression}'" if compression else ""
        options += ", IN_MEMORY => true" if name in in_memory else ""
        family_options.append(f"{{{options}}}")
    keys = ", ".join(
        '"' + "".join(f"\\x{byte:02X}" for byte in key) + '"' for key in split_keys(region_count)
    )
    splits = f", SPLITS => [{keys}]" if keys else ""
    return f"create '{table}', {', '.join(family_options)}{splits}"


def parse_table_options(url: str) -> tuple[frozenset[str], int]:
    """Return two options of a table URL: the names of column families in `in_memory=`, and the
    number of regions in `regions=` (default 1).

    Raises ConfigurationError if the number of regions is not from 1 to 4,096.
    """
    options = dict(parse_qsl(urlsplit(url).query))
    families = frozenset(filter(None, options.get("in_memory", "").split(",")))
    regions = options.get("regions", "1")
    if not regions.isascii() or not regions.isdigit() or not 1 <= int(regions) <= REGIONS_MAX:
        raise ConfigurationError(
            f"table: regions={regions!r} is not a number from 1 to {REGIONS_MAX}"
        )
    return families, int(regions)
