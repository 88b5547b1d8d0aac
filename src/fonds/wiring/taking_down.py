"""What takes files down in a home, for commands and pages alike."""

from __future__ import annotations

from collections.abc import Callable

from fonds.config import Settings
from fonds.library.reading.page_views import forget_views
from fonds.library.tracing.own_warcs import Tick
from fonds.library.tracing.takedown import TakingDown
from fonds.ports import Stores
from fonds.wiring.backends import now, readers_of
from fonds.wiring.recurring.collections import changes_there, warc_purge


def taking_down(
    stores: Stores,
    settings: Settings,
    say: Callable[[str], None],
    tick: Tick = lambda name, done_bytes: None,
    *,
    everywhere: bool = False,
) -> TakingDown:
    """For this process; `say` is told in a sentence what came of each WARC of ours, `tick` how far one is."""
    return TakingDown(
        stores,
        changes_there(stores, settings),
        list(readers_of(settings)),
        now,
        warc_purge(stores, say, tick),
        forget_views,
        everywhere=everywhere,
    )
