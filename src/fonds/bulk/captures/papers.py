"""The filter `papers`: which addresses look like those of scholarly papers, by the SURT alone.

Source: the heuristics by which crawls of papers have been cut out of whole crawls in this field: members'
pages of universities, words of paths, words of hosts, and DOI prefixes in paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fonds.bibliography.identifiers.doi import names_prefix

_UNIVERSITY_MEMBER = re.compile(r"(?:[a-z0-9-]+,)?(?:edu|ac),[^)]*\)(?::[0-9]+)?/(?:~|%7e)")
"""`edu` or `ac` is the top of the name or just below it, and the path begins with a person's `~`."""
_PATH_WORD = re.compile(
    r"/(?:pubs?|research|publications?|articles?|proceedings?|papers?|full-?text)(?:/|$|\?)"
)
_HOST_WORD = re.compile(
    r"eprint|dspace|scielo|redalyc|revues|revistas|research|journal|(?:^|,)(?:hal|ojs)(?:,|-|$)"
)
"""Short words count as whole parts of a name alone."""


def is_paper(surt: str) -> bool:
    """Whether a capture's SURT looks like that of a paper, in any case of letters."""
    folded = surt.lower()
    host, _, path = folded.partition(")")
    return bool(
        _UNIVERSITY_MEMBER.match(folded)
        or _HOST_WORD.search(host)
        or _PATH_WORD.search(path)
        or names_prefix(path)
    )


FILTERS: Mapping[str, Callable[[str], bool]] = {"papers": is_paper}
"""What `--filter` may name."""
