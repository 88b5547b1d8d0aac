"""The statement by which the HBase shell makes the table, with what a Thrift server cannot say: its regions.

Source: HBase 2.6 reference guide, "Shell exercises" and "Pre-splitting".
"""

from __future__ import annotations

import re

from fonds.formats.journal.keys import split_keys
from fonds.formats.journal.schema import Schema
from fonds.model.errors import ConfigurationError

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")


def shell_statement(table: str, schema: Schema, region_count: int) -> str:
    """`create 'TABLE', {family}..., SPLITS => [...]`. Raises ConfigurationError for a name HBase refuses."""
    if not _NAME.fullmatch(table):
        raise ConfigurationError(f"{table!r} is no name HBase takes")
    families = []
    for one in schema.families:
        compression = f", COMPRESSION => '{one.compression}'" if one.compression else ""
        families.append(f"{{NAME => '{one.name}', VERSIONS => 1{compression}}}")
    keys = ", ".join(
        '"' + "".join(f"\\x{byte:02X}" for byte in key) + '"' for key in split_keys(region_count)
    )
    splits = f", SPLITS => [{keys}]" if keys else ""
    return f"create '{table}', {', '.join(families)}{splits}"
