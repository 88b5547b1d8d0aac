"""What a child process gives up before it meets any input, layer by layer.

After it a child may read what it was handed, compute, and answer: everything else is refused by the
kernel. Each layer stands alone, so that one the kernel lacks leaves the others; which of them hold is
told by `confine`, and by `fonds doctor`.
"""

from fonds.isolation.confinement.confine import Prepared, confine, limit_call, prepare
from fonds.isolation.confinement.layers import HELD, NOT_HELD, Layer, Layers
from fonds.isolation.confinement.privileges import hide

__all__ = [
    "HELD",
    "NOT_HELD",
    "Layer",
    "Layers",
    "Prepared",
    "confine",
    "hide",
    "limit_call",
    "prepare",
]
