"""List the sites of a URL: its host and every parent domain."""

from __future__ import annotations

from fonds.urls.parts import split_address

LABELS_MAX = 12


def list_sites(url: str) -> list[str]:
    """Return the host of a URL and all its parent domains, the shortest first.

    A host with more than 12 labels is cut to its last 12. An IP address is the only site of its
    URL. A URL without a host has the site ''.
    """
    host = split_address(url).host.lower().strip(".")
    if not host or host.startswith("[") or host.replace(".", "").isdigit():
        return [host]
    labels = [label for label in host.split(".") if label][-LABELS_MAX:]
    return [".".join(labels[n:]) for n in range(len(labels) - 1, -1, -1)]
