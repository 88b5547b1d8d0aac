"""How long a feed asks to be left alone, as seconds.

Source: RSS 2.0.11 (`ttl` in minutes, `cloud`); RSS 1.0, module `syndication` (`updatePeriod`,
`updateFrequency`).
"""

from __future__ import annotations

from collections.abc import Mapping

DAY_S = 86_400
YEAR_S = 365 * DAY_S
PERIODS_S = {
    "hourly": 3_600,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": YEAR_S,
}


def ttl_seconds(minutes: str) -> int | None:
    """What `ttl` says, a year at most; None where it says no number above 0."""
    number = _whole(minutes)
    return min(60 * number, YEAR_S) if number else None


def update_seconds(period: str, frequency: str) -> int | None:
    """The period over how often in it the feed changes; None without a period."""
    whole_s = PERIODS_S.get(period.strip().lower())
    return whole_s // max(1, _whole(frequency)) or 1 if whole_s else None


def cloud_url(attributes: Mapping[str, str]) -> str:
    """The rssCloud server as one URL; "" where it names no host."""
    host = attributes.get("domain", "").strip()
    if not host or any(one.isspace() or one in "/@?#" for one in host):
        return ""
    port, path = attributes.get("port", "80").strip(), attributes.get("path", "/").strip()
    scheme = "https" if port == "443" else "http"
    return f"{scheme}://{host}:{port}/{path.lstrip('/')}"[:2_000]


def _whole(text: str) -> int:
    bare = text.strip().partition(".")[0]
    return int(bare[:9]) if bare.isascii() and bare.isdigit() else 0
