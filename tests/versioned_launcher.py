"""Start `fonds` as a version with another message format.

    python tests/versioned_launcher.py FORMAT_VERSION ARGUMENTS…

Messages that only a newer version can read return to the queue after half a second.
"""

from __future__ import annotations

import sys

from fonds.cli.main import main
from fonds.pipelines.runtime import newer_messages
from fonds.queues.messages import envelope

if __name__ == "__main__":
    envelope.FORMAT_VERSION = int(sys.argv.pop(1))
    newer_messages.DELAY_FIRST_S = newer_messages.DELAY_MAX_S = 0.5
    main()
