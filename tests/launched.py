"""Starts `fonds` in a process of its own where names are resolved as a web of tests says.

    python tests/launched.py NAMES.json -- WORDS…

Names of the web lead where the file says; no other is resolved, and no address outside the web may be asked.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fixtures.web_of_hosts import HERE, is_allowed
from fonds.cli.main import main
from fonds.fetching import addresses as resolving


def resolver(
    told: dict[str, dict[str, list[str]]], rebinds: Sequence[str] = ("rebinding",)
) -> object:
    """Resolves by name; of those that are bound anew the first address holds once, then the second."""
    asked: Counter[str] = Counter()

    def resolve(host: str, port: int) -> Sequence[str]:
        if host[0].isdigit():
            return [host]
        asked[host] += 1
        if host.partition(".")[0] in rebinds:
            addresses = told["addresses"][host]
            return [addresses[min(asked[host], len(addresses)) - 1]]
        if host in told["addresses"] or host in told["known"] or host.endswith(".example"):
            return told["addresses"].get(host, [HERE])
        raise OSError(-2, "Name or service not known")

    return resolve


if __name__ == "__main__":
    names = json.loads(Path(sys.argv[1]).read_text())
    resolving.resolve = resolver(names)  # type: ignore[assignment]
    resolving.is_public = is_allowed  # type: ignore[assignment]
    sys.argv = ["fonds", *sys.argv[sys.argv.index("--") + 1 :]]
    main()
