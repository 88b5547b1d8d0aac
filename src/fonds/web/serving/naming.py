"""The name under which a file is kept by whoever is handed it.

Source: RFC 6266 (Content-Disposition), RFC 8187 (its `filename*`).
Bound: a name has at most 120 characters and 200 bytes of UTF-8.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal
from urllib.parse import quote

from fonds import address

CHARACTERS_MAX, BYTES_MAX = 120, 200
_BLANKS = re.compile(r"\s+")
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f"*/:<>?\\|]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_KEPT_PLAIN = "!#$&+-.^_`|~"


def disposition(kind: Literal["inline", "attachment"], name: str) -> str:
    """The header's value: the name in ASCII for those who read no other, and as it is."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[%\"\\]", "_", plain).strip()
    plain = plain if plain.strip(".") and not plain.startswith(".") else f"file{plain}"
    told = f'{kind}; filename="{plain}"'
    return told if plain == name else f"{told}; filename*=UTF-8''{quote(name, safe=_KEPT_PLAIN)}"


def file_name(title: str, ending: str, otherwise: str) -> str:
    """A name every system takes, made of a title or the last part of a URL's path, with `ending` as `.pdf`;
    `otherwise` where nothing is left of it."""
    words = address.file_name(title) if "://" in title else title
    shown = "".join(one for one in words if unicodedata.category(one) not in ("Cc", "Cf", "Cs"))
    plain = _BLANKS.sub(" ", _NOT_IN_NAMES.sub(" ", unicodedata.normalize("NFC", shown)))
    if plain.lower().endswith(ending):
        plain = plain[: -len(ending)]
    cut = plain.strip(" .")[:CHARACTERS_MAX].encode()[: BYTES_MAX - len(ending)]
    name = cut.decode("utf-8", "ignore").strip(" .")
    if not name or _DEVICES.match(name):
        name = otherwise
    return f"{name}{ending}"
