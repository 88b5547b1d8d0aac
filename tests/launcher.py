"""Start `fonds` in a process that resolves the host names of a test web.

    python tests/launcher.py NAMES.json -- ARGUMENTS…

The file gives the addresses of the names. Other names do not resolve, and addresses outside the web
are refused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fixtures.web_of_hosts import LOCALHOST, is_allowed
from fonds.cli.main import main
from fonds.fetching import addresses as resolving


def resolver(
    web: dict[str, dict[str, list[str]]], rebinds: Sequence[str] = ("rebinding",)
) -> object:
    """Return a resolver for the names in `web`.

    A name in `rebinds` resolves to its first address once, then to its second.
    """
    lookup_counts: Counter[str] = Counter()

    def resolve(host: str, port: int) -> Sequence[str]:
        if host[0].isdigit():
            return [host]
        lookup_counts[host] += 1
        if host.partition(".")[0] in rebinds:
            addresses = web["addresses"][host]
            return [addresses[min(lookup_counts[host], len(addresses)) - 1]]
        if host in web["addresses"] or host in web["known"] or host.endswith(".example"):
            return web["addresses"].get(host, [LOCALHOST])
        raise OSError(-2, "Name or service not known")

    return resolve


if __name__ == "__main__":
    names = json.loads(Path(sys.argv[1]).read_text())
    resolving.resolve = resolver(names)  # type: ignore[assignment]
    resolving.is_public = is_allowed  # type: ignore[assignment]
    sys.argv = ["fonds", *sys.argv[sys.argv.index("--") + 1 :]]
    main()
