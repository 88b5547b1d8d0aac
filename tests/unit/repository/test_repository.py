"""Files around the package: recipes, locks, licences, import rules, and forbidden names."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement

from unit.repository.tree import PACKAGE, ROOT, list_recipes, read_texts

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("requirements/run.txt", "requirements/dev.txt")
HOSTS = ("pypi" + ".org", "python" + "hosted.org", "registry.npm" + "js.org", "anaconda" + ".org")

PERMISSIVE = re.compile(
    r"MIT|BSD|0BSD|Apache|ISC|Zlib|PSF|Python Software Foundation|CNRI-Python|HPND|Unlicense|CC0"
)
NOT_LICENCES = frozenset(
    {"AND", "OR", "WITH", "LICENSE", "THE", "SOFTWARE", "DEPENDENCY", "LICENSES"}
)
# Dependencies without a clearly permissive licence, and why they can be used.
EXCEPTIONS = {
    "certifi": "MPL-2.0: copyleft of single files; used unmodified, a list of certificates",
    "pathspec": "MPL-2.0: copyleft of single files; used unmodified, by the build backend only",
    "pikepdf": "MPL-2.0: copyleft of single files; used unmodified as a library",
    "publicsuffixlist": "MPL-2.0: copyleft of single files; used unmodified, the public suffix list",
    "scipy": "BSD-3-Clause; its wheels carry libgfortran and libgcc, free by GCC's Runtime Library Exception",
    "tld": "MPL-1.1 or GPL-2.0 or LGPL-2.1: we choose MPL-1.1, copyleft of single files; unmodified",
}


def list_locked(lock: str) -> list[tuple[str, str]]:
    """Return the requirements of a lock file, each with its lines."""
    text = (ROOT / lock).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(" ")]
    return [(line.partition(" --hash")[0].strip(), line) for line in lines if line[0] != "#"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_requirement_is_pinned_and_has_hashes(lock: str) -> None:
    locked = list_locked(lock)
    assert len(locked) > 20
    assert [name for name, _ in locked if "==" not in name] == []
    assert [name for name, line in locked if "--hash=sha256:" not in line] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_contains_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    assert not re.search(r"://|index-url|find-links|trusted-host", text)


def test_every_dependency_of_the_package_is_locked() -> None:
    locked = {Requirement(name).name.lower() for name, _ in list_locked("requirements/run.txt")}
    required = {
        Requirement(dependency).name.lower() for dependency in PYPROJECT["project"]["dependencies"]
    }
    assert required - locked == set()


def test_the_locked_dependencies_are_permissive() -> None:
    questionable = {}
    for text, _ in list_locked("requirements/run.txt"):
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        licence = get_licence(requirement.name)
        if not is_permissive(licence):
            questionable[requirement.name] = licence
    assert questionable.keys() == EXCEPTIONS.keys(), questionable


def get_licence(name: str) -> str:
    metadata = distribution(name).metadata
    classifiers = [
        line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    joined = " AND ".join(classifier.split(" :: ")[-1] for classifier in classifiers)
    text: str = metadata.get("License-Expression") or metadata.get("License") or joined
    return text


def is_permissive(licence: str) -> bool:
    """Return whether every licence of a conjunction is permissive, or one of each choice."""
    parts = re.split(r"\s+AND\s+|,", licence)
    parts = [part for part in parts if set(part.upper().split()) - NOT_LICENCES]
    choices = [re.split(r"\s+OR\s+", part) for part in parts]
    return bool(parts) and all(
        any(PERMISSIVE.search(licence_name) for licence_name in choice) for choice in choices
    )


def test_no_file_names_a_machine_or_a_registry() -> None:
    machine = "/" + "work" + "/"
    matches = [
        (place, needle)
        for place, text in read_texts().items()
        for needle in (machine, *HOSTS)
        if needle in text and place != ".git"  # the pointer of a work tree, which is not committed
    ]
    assert matches == []


def test_the_readme_starts_with_the_two_commands() -> None:
    introduction, _, rest = (ROOT / "README.md").read_text("utf-8").partition("```sh\n")
    commands = [line.split("#")[0].strip() for line in rest.partition("```")[0].splitlines()]
    assert len(introduction.splitlines()) < 10
    assert commands == ["make run", "make test"]
    assert {"run", "test"} <= list_recipes().keys()


@pytest.mark.parametrize(
    "page", sorted(place for place in read_texts() if place.endswith(".md") or place == ".ci/run")
)
def test_a_recipe_named_in_a_page_exists(page: str) -> None:
    used = set(re.findall(r"(?:^|`|\n)make ([a-z-]+)", read_texts()[page]))
    assert used - list_recipes().keys() == set()


@pytest.mark.parametrize("page", sorted(place for place in read_texts() if place.endswith(".md")))
def test_a_linked_file_exists(page: str) -> None:
    folder = (ROOT / page).parent
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", read_texts()[page])
    assert [link for link in links if not (folder / link).exists()] == []


PAGES = sorted(
    page
    for page in read_texts()
    if re.fullmatch(r"(README|ARCHITECTURE|CONTRIBUTING|docs/[\w-]+|docs/howto/[\w-]+)\.md", page)
)
"""Pages about the current code. Decisions name the paths of their time."""


@pytest.mark.parametrize("page", PAGES)
def test_a_code_path_named_in_a_page_exists(page: str) -> None:
    assert find_missing_paths(read_texts()[page]) == []


def find_missing_paths(text: str) -> list[str]:
    """Return the paths in backticks that do not exist: Python files, packages and files of the repository.

    A how-to marks a file it creates with `(new)`, and NAME in a path stands for any name. Rows of the code
    map name packages relative to those in their first cell.
    """
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    created = set(re.findall(r"`([^`]+)`\*\* \(new\)", text))
    missing = []
    for line in text.splitlines():
        first_cell = line.split("|")[1] if line.startswith("|") else ""
        folders = [
            ROOT,
            PACKAGE,
            *(PACKAGE / name for name in re.findall(PACKAGE_NAME, first_cell)),
        ]
        for path in re.findall(PATH, line):
            if path not in created and not any((folder / path).exists() for folder in folders):
                is_unique = "/" not in path and len(list(PACKAGE.rglob(path))) == 1
                missing += [] if is_unique else [path]
    return missing


PACKAGE_NAME = r"`([a-z_]+/)`"
SUBJECTS = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
FOLDERS = "src|tests|docs|scripts|requirements|deploy"
PATH = rf"`((?:[\w.-]+/)*\w+\.py|(?:{FOLDERS})/[\w./-]+|(?:{SUBJECTS})/(?:\w+/)*)`"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("`model/capture.py`, `src/fonds/model/` and `tests/unit/repository/`", []),
        ("`model/captures.py`", ["model/captures.py"]),
        ("`src/fonds/kinds/story.py`", ["src/fonds/kinds/story.py"]),
        ("`archive/captures/`", ["archive/captures/"]),
        ("`tests/unit/nothing/`", ["tests/unit/nothing/"]),
        ("`scheduler.py` is unique, `entries.py` is not", ["entries.py"]),
        ("**`src/fonds/model/new.py`** (new)", []),
        ("| `queues/` | `kafka/` and `kafka/queue.py` |", []),
    ],
)
def test_a_missing_path_is_reported(text: str, missing: list[str]) -> None:
    assert find_missing_paths(text) == missing


def test_the_layers_contract_covers_every_subpackage() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"] is True
    layer_names = {name.strip() for line in layers["layers"] for name in line.split("|")}
    subpackages = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert layer_names == subpackages - {"__init__", "__pycache__"}


def test_the_architecture_has_at_most_200_lines() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 200


def test_decisions_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert [name[:4] for name in names] == [f"{n:04}" for n in range(1, len(names) + 1)]
