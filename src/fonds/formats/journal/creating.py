"""The statement by which the HBase shell makes the table, with what a Thrift server cannot say: its regions.

Source: HBase 2.6 reference guide, "Shell exercises" and "Pre-splitting".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, urlsplit

from fonds.formats.journal.keys import REGIONS_MAX, split_keys
from fonds.model.errors import ConfigurationError

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")


def shell_statement(
    table: str,
    families: Mapping[str, str | None],
    region_count: int,
    in_memory: Collection[str] = (),
) -> str:
    """Return `create 'TABLE', {family}..., SPLITS => [...]`.

    `families` maps each name to its compression; `in_memory` names those that the block cache prefers.
    Raises ConfigurationError for a name HBase refuses.
    """
    if not _NAME.fullmatch(table):
        raise ConfigurationError(f"{table!r} is no name HBase takes")
    described = []
    for name, compression in families.items():
        options = f"NAME => '{name}', VERSIONS => 1, BLOOMFILTER => 'ROW', BLOCKCACHE => true"
        options += f", COMPRESSION => '{compression}'" if compression else ""
        options += ", IN_MEMORY => true" if name in in_memory else ""
        described.append(f"{{{options}}}")
    keys = ", ".join(
        '"' + "".join(f"\\x{byte:02X}" for byte in key) + '"' for key in split_keys(region_count)
    )
    splits = f", SPLITS => [{keys}]" if keys else ""
    return f"create '{table}', {', '.join(described)}{splits}"


def table_options(url: str) -> tuple[frozenset[str], int]:
    """Return the families in memory and the number of regions that a table URL asks for.

    Raises ConfigurationError for a number of regions that is none.
    """
    options = dict(parse_qsl(urlsplit(url).query))
    families = frozenset(filter(None, options.get("in_memory", "").split(",")))
    regions = options.get("regions", "1")
    if not regions.isascii() or not regions.isdigit() or not 1 <= int(regions) <= REGIONS_MAX:
        raise ConfigurationError(
            f"table: regions={regions!r} is not a number from 1 to {REGIONS_MAX}"
        )
    return families, int(regions)
