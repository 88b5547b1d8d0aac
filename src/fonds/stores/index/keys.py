"""What both kinds of index make of a document beside its words: its sites."""

from __future__ import annotations

from fonds.address import split_address

LABELS_MAX = 12


def sites(url: str) -> list[str]:
    """The host of a URL and all it lies under, the shortest first; [''] where there is no host.

    Of a name with more than 12 labels the last 12 count. A host in brackets or of digits alone is one.
    """
    host = split_address(url).host.lower().strip(".")
    if not host or host.startswith("[") or host.replace(".", "").isdigit():
        return [host]
    labels = [label for label in host.split(".") if label][-LABELS_MAX:]
    return [".".join(labels[n:]) for n in range(len(labels) - 1, -1, -1)]
