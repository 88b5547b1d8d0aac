"""The layers of a child's confinement, and what follows where one does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Layer(StrEnum):
    """One thing a child gives up; each is held by another part of the kernel."""

    SYSTEM_CALLS = "system calls"
    FILES = "files"
    PRIVILEGES = "privileges"
    USER = "user"
    MEMORY = "memory"
    LIMITS = "limits"


Layers = Mapping[Layer, str]
"""Why each layer does not hold, in words; empty for one that does."""

HELD: Mapping[Layer, str] = {
    Layer.SYSTEM_CALLS: "a reader may ask the kernel for what is on a list, and for nothing else",
    Layer.FILES: "a reader may open its libraries and fonts, and no other file",
    Layer.PRIVILEGES: "a reader has no privileges and can gain none",
    Layer.USER: "a reader is not an administrator",
    Layer.MEMORY: "nobody but an administrator can look into the processes of Fonds that read",
    Layer.LIMITS: "memory, processor time, open files and processes of a reader are limited",
}
NOT_HELD: Mapping[Layer, str] = {
    Layer.SYSTEM_CALLS: "a file that takes a reader over could do there what its user may do",
    Layer.FILES: "a file that takes a reader over could read what its user may read",
    Layer.PRIVILEGES: "a file that takes a reader over could use the privileges Fonds was started with",
    Layer.USER: "a reader stays the administrator, though without privileges",
    Layer.MEMORY: "other processes of this user can read what is in Fonds' memory",
    Layer.LIMITS: "a file could take all of the machine's memory or time",
}
