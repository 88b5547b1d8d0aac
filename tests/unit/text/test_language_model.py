"""The unpacked language model gives the results of the packed one, and damaged copies are replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from fonds.text.language_model import load_identifier

TEXTS = (
    "The flood came in the night and took the bridge with it.",
    "Das Hochwasser kam in der Nacht und nahm die Brücke mit.",
    "La crue est venue dans la nuit et a emporté le pont.",
    "洪水は夜に来て、橋を流した。",
    "w",
)


@pytest.fixture(scope="module")
def packed() -> list[tuple[str, float]]:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return [identifier.classify(text) for text in TEXTS]


def classify(folder: Path) -> list[tuple[str, float]]:
    identifier = load_identifier(folder)
    return [identifier.classify(text) for text in TEXTS]


def test_the_unpacked_copy_gives_the_same_results(
    tmp_path: Path, packed: list[tuple[str, float]]
) -> None:
    assert classify(tmp_path) == packed
    (copy,) = tmp_path.iterdir()
    written_at = copy.stat().st_mtime_ns
    assert classify(tmp_path) == packed
    assert [folder.stat().st_mtime_ns for folder in tmp_path.iterdir()] == [written_at]


@pytest.mark.parametrize(("name", "size_bytes"), [("nextmove", 1000), ("ptc", 0), ("row", None)])
def test_a_damaged_copy_is_replaced(
    tmp_path: Path, packed: list[tuple[str, float]], name: str, size_bytes: int | None
) -> None:
    load_identifier(tmp_path)
    (copy,) = tmp_path.iterdir()
    file = copy / f"{name}.npy"
    content = file.read_bytes()
    if size_bytes is None:
        file.unlink()
    else:
        file.write_bytes(content[:size_bytes])
    assert classify(tmp_path) == packed
    assert file.read_bytes() == content
    assert [folder.name for folder in tmp_path.iterdir()] == [copy.name]


def test_without_a_writable_folder_the_packed_model_is_loaded(
    tmp_path: Path, packed: list[tuple[str, float]]
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    assert classify(occupied) == packed
