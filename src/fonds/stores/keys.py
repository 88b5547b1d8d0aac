"""What a blob may be called in every store, so that blobs can move from one to another."""

from __future__ import annotations

from fonds.model.errors import ConfigurationError

KEY_MAX_BYTES = 1024
PART_MAX_BYTES = 255
"""The limits of S3 and of common file systems, so that every blob can move to the other."""

PARTS_FOLDER = ".parts"
"""No part of any key: the folder's files being written, and the S3 object that is asked for on opening."""


def check_key(key: str) -> None:
    """Raises ConfigurationError for a key that leads outside the folder or fits no store."""
    try:
        parts = key.encode().split(b"/")
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"the blob key {key!r} is not text") from error
    if len(key.encode()) > KEY_MAX_BYTES or max(map(len, parts)) > PART_MAX_BYTES:
        raise ConfigurationError(
            f"the blob key {key[:80]!r}… is longer than {KEY_MAX_BYTES} bytes,"
            f" or than {PART_MAX_BYTES} between slashes"
        )
    unfit = (b"", b".", b"..", PARTS_FOLDER.encode())
    if b"\x00" in key.encode() or any(part in unfit for part in parts):
        raise ConfigurationError(
            f"the blob key {key!r} is not a relative path that fits every store: it has an empty part,"
            f" `.`, `..`, `{PARTS_FOLDER}` or a NUL"
        )
