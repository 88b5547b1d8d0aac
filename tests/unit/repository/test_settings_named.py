"""Every setting that a message, a help text, a page or the documentation names is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from fonds.config import ENVIRONMENT_PREFIX, JOINED_NAMES, SETTINGS
from unit.repository.tree import PACKAGE, ROOT, modules

NAMES = frozenset(SETTINGS) | frozenset(JOINED_NAMES)
GROUPS = frozenset(name.partition(".")[0] for name in SETTINGS if "." in name)
INNER = frozenset(
    inner for name in SETTINGS if (inner := name.partition(".")[2]) and "_" in inner
) - frozenset(SETTINGS)
"""What settings of a group are called within it; nobody can set them so."""
NO_SETTINGS = frozenset({"every_s"})
"""A name of a configuration of themes too."""
FILE_ENDINGS = frozenset({"gz", "html", "json", "jsonl", "md", "py"})
MODULES = frozenset({"collections.abc"})
VARIABLES = NAMES | {"home", "name"}
"""In variables; `FONDS_NAME` stands for all of them."""

SET = re.compile(r"(?<![\w`])(?:--set[ =]|set )([a-z][a-z_.]*)(?==|[^\w.=])")
DOTTED = re.compile(rf"(?<![\w./])(?:{'|'.join(sorted(GROUPS))})\.([a-z_]+)\b(?!\.)")
BARE = re.compile(r"(?<![\w./`])[a-z]+_[a-z_]+\b(?![(.])")
TEMPLATE_CODE = re.compile(r"\{[{%#].*?[#%}]\}", re.DOTALL)
VARIABLE = re.compile(rf"(?<![A-Z_]){ENVIRONMENT_PREFIX}[A-Z][A-Z_]*[A-Z]\b")


@cache
def sentences() -> tuple[tuple[str, str], ...]:
    """Every text of the package that has a blank, with its place; sentences and no identifiers."""
    return tuple(
        (f"{module.place}:{node.lineno}", node.value)
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


def pages() -> Iterator[tuple[str, str]]:
    """The documentation and the words of templates. Decisions name what there was."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    documents += sorted((ROOT / "docs" / "howto").glob("*.md"))
    for path in documents:
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
    for path in sorted((PACKAGE / "web" / "templates").glob("*.html")):
        yield path.relative_to(ROOT).as_posix(), TEMPLATE_CODE.sub(" ", path.read_text("utf-8"))


def is_meant_as_setting(name: str) -> bool:
    """Whether `set NAME` can be nothing else: a person would copy it."""
    return "_" in name or "." in name


def unknown_in(text: str) -> Iterator[str]:
    for found in SET.finditer(text):
        name, has_value = found[1].rstrip("."), text[found.end() : found.end() + 1] == "="
        if (has_value or is_meant_as_setting(name)) and name not in NAMES:
            yield name
    for found in DOTTED.finditer(text):
        if found[0] not in NAMES | MODULES and found[1] not in FILE_ENDINGS:
            yield found[0]
    for found in VARIABLE.finditer(text):
        name = found[0].removeprefix(ENVIRONMENT_PREFIX).lower()
        if not {name, name.removesuffix("_file")} & VARIABLES:
            yield found[0]


def test_every_setting_that_is_named_exists() -> None:
    wrong = [(place, name) for place, text in (*sentences(), *pages()) for name in unknown_in(text)]
    assert wrong == []


def test_a_setting_of_a_group_is_named_with_its_group() -> None:
    wrong = [
        (place, found[0])
        for place, text in sentences()
        for found in BARE.finditer(text)
        if found[0] in INNER - NO_SETTINGS
    ]
    assert wrong == []


def test_names_that_do_not_exist_are_found() -> None:
    told = (
        "set private_addresses=true, --set pdf.timeout=3, web.takedown_by_two or FONDS_PDF_TIMEOUT"
    )
    assert sorted(unknown_in(told)) == [
        "FONDS_PDF_TIMEOUT",
        "pdf.timeout",
        "pdf.timeout",
        "private_addresses",
        "web.takedown_by_two",
    ]
    assert list(unknown_in("--set elsewhere.private_addresses=true FONDS_PDF_TIMEOUT_S")) == []
