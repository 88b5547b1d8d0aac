"""Names and row keys of the journal-extract table. A row key is the SHA-1 of a file as 20 raw
bytes; people see its hex or base32.

Source: seed document 000, "PDF Table". Keys of older tables are `sha1:` and 32 characters of
base32.
"""

from __future__ import annotations

import re

from fonds.model.errors import ConfigurationError
from fonds.model.keys import encode_sha1_base32, parse_sha1

SHA1_BYTES = 20
REGIONS_MAX = 4096
_NAME_PART = re.compile(r"[A-Za-z0-9_.]+")
OLD_KEY_PREFIX = b"sha1:"
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_RAW = "hex:"


def name_journal_table(group: str, version: int, env: str) -> str:
    """Return the name of a journal-extract table, `{group}-journal-extract-{version}-{env}`.

    Raises ConfigurationError if `version` is negative, or `group` or `env` has other characters
    than letters, digits, dots and underscores.
    """
    if version < 0 or not _NAME_PART.fullmatch(group) or not _NAME_PART.fullmatch(env):
        raise ConfigurationError(
            f"group {group!r}, version {version} and environment {env!r} are not a valid "
            "table name. Use letters, digits, dots and underscores, and a version of at "
            "least 0."
        )
    return f"{group}-journal-extract-{version}-{env}"


def build_row_key(sha1hex: str) -> bytes:
    """Return the row key of a file: the 20 raw bytes of its SHA-1. Raises ValueError if `sha1hex`
    is not a SHA-1.
    """
    raw = parse_sha1(sha1hex)
    if raw is None:
        raise ValueError(f"not a SHA-1: {sha1hex!r}")
    return raw


def build_old_key(sha1hex: str) -> bytes:
    """Return the row key of a file in older HBase tables: `sha1:` and the SHA-1 in base32, in
    ASCII.
    """
    return OLD_KEY_PREFIX + encode_sha1_base32(build_row_key(sha1hex)).encode()


def build_alternate_key(sha1hex: str, capture_id: str) -> bytes:
    """Return the row key of a later capture of a file: the row key of the file, a zero byte, and
    the capture id.

    A scan with the prefix `build_row_key(sha1hex)` finds the file and all its captures. Raises
    ValueError if the capture id is empty or `sha1hex` is not a SHA-1.
    """
    if not capture_id:
        raise ValueError(f"a later capture of {sha1hex} needs an id")
    return build_row_key(sha1hex) + b"\x00" + capture_id.encode()


def split_key(key: bytes) -> tuple[str, str | None]:
    """Return the SHA-1 in hex and the capture id that a row key of the journal-extract table
    contains. The capture id is None if the row belongs to the file itself.

    Keys of older tables are accepted. Raises ValueError if the key does not belong to a
    journal-extract table.
    """
    if len(key) == SHA1_BYTES:
        return key.hex(), None
    # An older key is 37 ASCII characters, none of them zero.
    if len(key) > SHA1_BYTES + 1 and key[SHA1_BYTES] == 0:
        return key[:SHA1_BYTES].hex(), key[SHA1_BYTES + 1 :].decode()
    raw = parse_sha1(key.decode("ascii")) if key.startswith(OLD_KEY_PREFIX) else None
    if raw is None:
        raise ValueError(f"not a key of a journal-extract table: {key!r}")
    return raw.hex(), None


def format_key(key: bytes, *, base32: bool = False) -> str:
    """Format a row key of the journal-extract table as text: the SHA-1 in hex or base32, then for a
    later capture a slash and the capture id.

    A key of an older table (`sha1:` and base32) is returned as it is. A key that does not belong to
    a journal-extract table becomes `hex:` and its hex.
    """
    try:
        sha1hex, capture_id = split_key(key)
        if key == build_old_key(sha1hex):
            return key.decode("ascii")
        sha1_text = encode_sha1_base32(bytes.fromhex(sha1hex)) if base32 else sha1hex
        text = sha1_text if capture_id is None else f"{sha1_text}/{capture_id}"
        return text if parse_key(text) == key else _RAW + key.hex()
    except ValueError:
        return _RAW + key.hex()


def parse_key(text: str, *, older: bool = False) -> bytes:
    """Parse the text of a row key of the journal-extract table, as `format_key` writes it. Hex and
    base32 may be in upper or lower case.

    A leading `sha1:` is ignored; with `older` it means a key of an older table. Raises ValueError
    if the text is not a SHA-1.
    """
    if text.startswith(_RAW) and _HEX.fullmatch(text.removeprefix(_RAW)):
        return bytes.fromhex(text.removeprefix(_RAW))
    sha1_text, slash, capture_id = text.partition("/")
    raw = parse_sha1(sha1_text)
    if raw is None:
        raise ValueError(f"not a SHA-1 in hex or base32: {text[:80]!r}")
    if slash:
        return build_alternate_key(raw.hex(), capture_id)
    return build_old_key(raw.hex()) if older and sha1_text.startswith("sha1:") else raw


def split_keys(region_count: int) -> list[bytes]:
    """Return the boundary keys that split a table by SHA-1 into `region_count` regions of equal
    size. SHA-1s are distributed uniformly.

    Raises ValueError if `region_count` is not from 1 to 4,096.
    """
    if not 1 <= region_count <= REGIONS_MAX:
        raise ValueError(f"A table can have 1 to {REGIONS_MAX} regions, not {region_count}.")
    return [
        (number * 65536 // region_count).to_bytes(2, "big") for number in range(1, region_count)
    ]
