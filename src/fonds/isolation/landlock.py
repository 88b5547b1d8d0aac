"""Landlock rules, with which the Linux kernel lets a child process read only libraries and
fonts.

The rules are created once, and each child applies them to itself. Source: landlock(7),
`linux/landlock.h`; versions 1 to 7 of the interface. Each version can deny more.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fonds.isolation.kernel import call_kernel

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_SITES = frozenset({"site-packages", "dist-packages"})
SYSTEM_PATHS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/X11/fonts",
    "/usr/share/zoneinfo",
    "/dev/random",
    "/dev/urandom",
)
"""System files that parsers need: fonts, time zones, and random numbers for ciphers."""


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def get_version() -> int:
    """Return the kernel's Landlock version. Raises OSError if the kernel has no Landlock."""
    return call_kernel(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))


def find_library_paths() -> frozenset[Path]:
    """Return the folders and files of Python modules that this process has loaded or may load."""
    paths = {
        Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
    paths |= {Path(entry) for entry in sys.path if Path(entry).name in _SITES}
    tops = {name.partition(".")[0] for name in sys.modules}
    for top in tops:
        file = getattr(sys.modules.get(top), "__file__", None)
        if file is not None:
            path = Path(file)
            paths.add(path.parent if path.stem == "__init__" else path)
    return frozenset(paths)


def create_read_ruleset(paths: Iterable[Path]) -> int:
    """Create Landlock rules that allow reading at and below these paths and deny all other file
    access.

    Return the file descriptor of the rules. Paths that do not exist are skipped. Raises OSError if
    the kernel has no Landlock.
    """
    version = get_version()
    files = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        files |= (version >= since) << bit
    rules = _Ruleset(files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size_bytes = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = call_kernel(
        _CREATE, ctypes.byref(rules), ctypes.c_size_t(size_bytes), ctypes.c_uint32(0)
    )
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            _allow(ruleset, path)
    return ruleset


def _allow(ruleset: int, path: Path) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed_access = _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
        beneath = _PathBeneath(allowed_access, handle)
        call_kernel(
            _ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            ctypes.byref(beneath),
            ctypes.c_uint32(0),
        )
    finally:
        os.close(handle)


def restrict(ruleset: int) -> None:
    """Permanently apply Landlock rules to this process. `ruleset` is the file descriptor of the
    rules.

    The process must have called `forbid_new_privileges` before. Raises OSError if the kernel
    refuses.
    """
    call_kernel(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
