"""Choice of the links of a list that one run takes: a random sample, and a maximum number."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1


@dataclass(slots=True)
class LinkSample:
    """Decides which links of a list are taken: a sample, and at most a maximum number.

    - `percent`: percentage of the URLs to sample.
    - `count_max`: maximum number of links in this run; None for no maximum.
    - `taken_count`: number of links taken so far.
    - `is_done`: whether reading has stopped at the maximum.
    """

    percent: float = 100.0
    count_max: int | None = None
    taken_count: int = 0
    is_done: bool = False

    def is_full(self) -> bool:
        """Return whether the maximum number of links, `count_max`, was taken."""
        return self.count_max is not None and self.taken_count >= self.count_max

    def is_sampled(self, url: str) -> bool:
        """Return whether a URL is in the sample. The result depends only on the URL and `percent`,
        so repeated runs take the same links.
        """
        if self.percent >= 100.0:
            return True
        chance = sha1(url.encode("utf-8", "replace")).digest()  # noqa: S324 (for sampling, not security)
        return int.from_bytes(chance[:8]) < self.percent / 100.0 * 2**64
