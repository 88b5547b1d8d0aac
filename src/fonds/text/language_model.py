"""Load the model that detects languages, from a copy that is unpacked once.

py3langid ships its model compressed (4.6 MB); unpacking the 68 MB takes 0.45 s of CPU in each
process. The unpacked arrays are stored beside the package, in `__pycache__` as Python does with
compiled modules, and mapped into memory. Where that folder cannot be written, the packed model is
loaded instead.
"""

from __future__ import annotations

import shutil
import tempfile
from array import array
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np
import py3langid
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from py3langid.modelio import load_model

PACKED = Path(py3langid.__file__).parent / MODEL_FILE
NAMES = ("ptc", "pc", "classes", "nextmove", "row", "output")
"""Arrays of the language model, in the order in which py3langid returns them. Each is one `.npy`
file.
"""


def load_identifier(folder: Path | None = None) -> LanguageIdentifier:
    """Return the language identifier of py3langid with its own model.

    `folder` is where unpacked models are stored; None for the `__pycache__` of py3langid. A damaged
    copy is replaced.
    """
    unpacked_folder = (folder or PACKED.parent / "__pycache__") / f"model-{_describe_packed()}"
    arrays = _map_arrays(unpacked_folder)
    if arrays is None:
        loaded_model = load_model(PACKED)
        with suppress(OSError):
            _write_arrays(unpacked_folder, loaded_model)
        ptc, pc, classes, nextmove, row, output = loaded_model
    else:
        ptc, pc = arrays["ptc"], arrays["pc"]
        classes, output = arrays["classes"].tolist(), arrays["output"].tolist()
        nextmove, row = arrays["nextmove"].data, array("H", arrays["row"].tobytes())
    return LanguageIdentifier(
        np.asarray(ptc), np.asarray(pc), classes, nextmove, output, norm_probs=True, tk_row=row
    )


def _describe_packed() -> str:
    """Return a name that changes with the packed language model: version, size and time of its
    file.
    """
    status = PACKED.stat()
    return f"{version('py3langid')}-{status.st_size}-{status.st_mtime_ns}"


def _map_arrays(folder: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of an unpacked language model by name; None if there is no complete
    copy.
    """
    try:
        return {
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in NAMES
        }
    except (OSError, ValueError, EOFError):  # missing, or cut
        return None


def _write_arrays(folder: Path, loaded_model: tuple[object, ...]) -> None:
    """Write an unpacked language model. Other processes see the whole model or nothing."""
    folder.parent.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        for name, values in zip(NAMES, loaded_model, strict=True):
            np.save(work / f"{name}.npy", np.asarray(values), allow_pickle=False)
        shutil.rmtree(folder, ignore_errors=True)
        work.chmod(0o755)  # other users may read it, as they may read the packed model
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
