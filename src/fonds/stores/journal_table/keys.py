"""Table names and row keys (20 raw bytes) of the journal-extract table, and their text form.

Source: seed 000, "PDF Table". Keys of older tables are `sha1:` and 32 characters of base32.
"""

from __future__ import annotations

import re

from fonds.model.errors import ConfigurationError
from fonds.model.keys import encode_sha1_base32, parse_sha1

SHA1_BYTES = 20
REGIONS_MAX = 4096
_NAME_PART = re.compile(r"[A-Za-z0-9_.]+")
_OLDER = b"sha1:"
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_RAW = "hex:"


def name_journal_table(group: str, version: int, env: str) -> str:
    """Return `{group}-journal-extract-{version}-{env}`. Raises ConfigurationError for parts HBase
    refuses.
    """
    if version < 0 or not _NAME_PART.fullmatch(group) or not _NAME_PART.fullmatch(env):
        raise ConfigurationError(
            f"group {group!r}, version {version} and environment {env!r} are not a valid "
            "table name. Use letters, digits, dots and underscores, and a version of at "
            "least 0."
        )
    return f"{group}-journal-extract-{version}-{env}"


def build_row_key(sha1hex: str) -> bytes:
    """Return the 20 raw bytes of a file's SHA-1. Raises ValueError for an invalid one."""
    raw = parse_sha1(sha1hex)
    if raw is None:
        raise ValueError(f"not a SHA-1: {sha1hex!r}")
    return raw


def build_old_key(sha1hex: str) -> bytes:
    """Return a file's key in tables of the HBase era: `sha1:` and its base32, in ASCII."""
    return _OLDER + encode_sha1_base32(build_row_key(sha1hex)).encode()


def build_alternate_key(sha1hex: str, capture_id: str) -> bytes:
    """Return the key of a later capture of a file: the file's key, a zero byte, and the capture's
    id.

    One scan with the prefix `build_row_key` finds a file and all its captures.
    """
    if not capture_id:
        raise ValueError(f"a later capture of {sha1hex} needs an id")
    return build_row_key(sha1hex) + b"\x00" + capture_id.encode()


def split_key(key: bytes) -> tuple[str, str | None]:
    """Return the SHA-1 in hex and the id of the later capture, None in the row of the file itself.

    Accepts keys of older tables too. Raises ValueError.
    """
    if len(key) == SHA1_BYTES:
        return key.hex(), None
    # An older key is 37 ASCII characters, none of them zero.
    if len(key) > SHA1_BYTES + 1 and key[SHA1_BYTES] == 0:
        return key[:SHA1_BYTES].hex(), key[SHA1_BYTES + 1 :].decode()
    raw = parse_sha1(key.decode("ascii")) if key.startswith(_OLDER) else None
    if raw is None:
        raise ValueError(f"not a key of a journal-extract table: {key!r}")
    return raw.hex(), None


def format_key(key: bytes, *, base32: bool = False) -> str:
    """Format a key for people: SHA-1 in hex or base32, then a slash and the id of a later capture.

    An older key is unchanged; a key that is not of this table becomes `hex:` and its hex.
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
    """Parse a key as `format_key` writes it: hex or base32 in either case.

    A leading `sha1:` is ignored unless `older`; then it marks a key of an older table. Raises
    ValueError.
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
    """Return the keys that split a table into `region_count` regions of equal size; SHA-1s are
    uniform.

    Raises ValueError for fewer than 1 or more than 4,096.
    """
    if not 1 <= region_count <= REGIONS_MAX:
        raise ValueError(f"A table can have 1 to {REGIONS_MAX} regions, not {region_count}.")
    return [
        (number * 65536 // region_count).to_bytes(2, "big") for number in range(1, region_count)
    ]
