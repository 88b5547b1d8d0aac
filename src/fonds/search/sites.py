"""The sites of a URL: its host and every host above it."""

from __future__ import annotations

from fonds.urls.parts import split_address

LABELS_MAX = 12


def list_sites(url: str) -> list[str]:
    """Return the host of a URL and every host above it, the shortest first; [''] without a host.

    A name with more than 12 labels is cut to its last 12. An IP address is one host.
    """
    host = split_address(url).host.lower().strip(".")
    if not host or host.startswith("[") or host.replace(".", "").isdigit():
        return [host]
    labels = [label for label in host.split(".") if label][-LABELS_MAX:]
    return [".".join(labels[n:]) for n in range(len(labels) - 1, -1, -1)]
