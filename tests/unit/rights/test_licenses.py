"""Licences and holders in any notation are normalized to one form."""

from __future__ import annotations

import pytest

from cpu_growth import assert_linear_cpu
from fonds.model.rights import RAW_MAX_CHARS, Statement, StatementSource, Subject
from fonds.rights.licenses import (
    VALUE_MAX_CHARS,
    build_holder_statements,
    build_license_statements,
    build_rights_statements,
    is_creative_commons,
    normalize_license,
)

CC = "https://creativecommons.org"


@pytest.mark.parametrize(
    ("stated", "value"),
    [
        (f"{CC}/licenses/by/4.0/", "cc-by-4.0"),
        ("http://www.creativecommons.org/licenses/by/4.0", "cc-by-4.0"),
        ("//creativecommons.org/licenses/by-nc/4.0/deed.de", "cc-by-nc-4.0"),
        (f"{CC}/licenses/by-nc-nd/4.0/legalcode.fr", "cc-by-nc-nd-4.0"),
        (f"{CC}/licenses/by-sa/3.0/de/", "cc-by-sa-3.0-de"),
        (f"{CC}/licenses/by-sa/3.0/de/deed.en", "cc-by-sa-3.0-de"),
        (f"{CC}/licenses/by/4.0/de/", "cc-by-4.0"),
        (f"{CC}/licenses/nd-nc/1.0/", "cc-nc-nd-1.0"),
        (f"{CC}/licenses/by/", "cc-by"),
        (f"{CC}/publicdomain/zero/1.0/deed.ja", "cc0-1.0"),
        (f"{CC}/publicdomain/mark/1.0/", "cc-pdm-1.0"),
        (f"{CC}/licenses/publicdomain/", "cc-pddc"),
        ("CC BY-NC 4.0", "cc-by-nc-4.0"),
        ("CC-BY-SA-4.0", "cc-by-sa-4.0"),
        ("cc by 2.5", "cc-by-2.5"),
        ("CC0", "cc0-1.0"),
        ("Creative Commons Zero", "cc0-1.0"),
        ("Creative Commons Attribution 4.0 International License", "cc-by-4.0"),
        ("Creative Commons Attribution-NonCommercial-ShareAlike 3.0 Unported", "cc-by-nc-sa-3.0"),
        ("Creative Commons Attribution Non-Commercial No Derivatives 4.0", "cc-by-nc-nd-4.0"),
        ("under the Creative Commons Attribution License (version 4.0), which", "cc-by-4.0"),
        ("the terms of the Creative Commons Attribution License", "cc-by"),
        ("Licensed, see http://creativecommons.org/licenses/by/3.0/us/.", "cc-by-3.0-us"),
        ("MIT", "mit"),
        ("Apache-2.0", "apache-2.0"),
        ("https://www.apache.org/licenses/LICENSE-2.0.html", "apache-2.0"),
        ("https://www.gnu.org/licenses/fdl-1.3.html", "gfdl-1.3-only"),
        ("https://opendatacommons.org/licenses/odbl/1-0/", "odbl-1.0"),
        ("https://unlicense.org.evil.example/", "https://unlicense.org.evil.example/"),
        (
            "https://opensource.org/licenses/mitigation",
            "https://opensource.org/licenses/mitigation",
        ),
        ("https://evil.example/creativecommons.org/licenses/by/4.0/",) * 2,
        ("https://e.example/Terms?of=Use", "https://e.example/Terms?of=Use"),
        ("All rights reserved.", "all rights reserved"),
        ("  Own \n licence  ", "own licence"),
        ("/terms.html", "https://e.example/terms.html"),
        ("", ""),
        (" . ", ""),
    ],
)
def test_a_licence_in_any_notation_has_one_value(stated: str, value: str) -> None:
    assert normalize_license(stated, "https://e.example/a/b") == value


@pytest.mark.parametrize(
    ("notice", "holder"),
    [
        ("© 2019-2024 The Basin Courier. All rights reserved.", "The Basin Courier"),
        ("Copyright (c) 2020 by Ada Stroom, licensed under CC BY 4.0", "Ada Stroom"),
        ("(C) Sky & Sons Ltd. 2021", "Sky & Sons Ltd"),
        ("©2024 Überall Wasser e.V. | Terms", "Überall Wasser e.V"),
        ("Copyright 2021, 2022 Example", "Example"),
        ("Ada Stroom", "Ada Stroom"),
    ],
)
def test_the_holder_of_a_notice_is_only_its_name(notice: str, holder: str) -> None:
    (statement,) = build_holder_statements(notice, StatementSource.META, "copyright")
    assert (statement.subject, statement.value) == (Subject.HOLDER, holder)


@pytest.mark.parametrize("notice", ["", "© 2024", "Copyright 2019–2024", "All rights reserved"])
def test_a_notice_without_a_name_has_no_holder(notice: str) -> None:
    assert build_holder_statements(notice, StatementSource.META, "copyright") == []


def test_a_line_about_rights_can_state_a_licence_and_a_holder() -> None:
    rights_statements = build_rights_statements(
        "© 2024 Ada Stroom. CC BY 4.0", StatementSource.XMP, "dc:rights"
    )
    assert [(statement.subject, statement.value) for statement in rights_statements] == [
        (Subject.LICENSE, "cc-by-4.0"),
        (Subject.HOLDER, "Ada Stroom"),
    ]
    (single,) = build_rights_statements("All Rights Reserved", StatementSource.XMP, "dc:rights")
    assert (single.subject, single.value) == (Subject.LICENSE, "all rights reserved")
    assert build_rights_statements("© 2024", StatementSource.XMP, "dc:rights") == []


def test_only_licence_urls_of_creative_commons_are_recognized() -> None:
    assert is_creative_commons(f"{CC}/licenses/by/4.0/")
    assert is_creative_commons("http://de.creativecommons.org/licenses/by/3.0/de/")
    assert not is_creative_commons(f"{CC}/about/")
    assert not is_creative_commons("https://e.example/?creativecommons.org/licenses/by/4.0/")


@pytest.mark.parametrize(
    ("start", "repeated_text", "count"),
    [
        ("", "\x00\ud800", 5_000),
        ("", "cc by ", 50_000),
        ("© ", "2019-", 50_000),
        ("creative commons ", "attribution ", 50_000),
        ("https://", "a", 300_000),
        ("", "http://[", 20_000),
        ("", "(c) copyright © ", 20_000),
        ("https://creativecommons.org/licenses/", "by-", 50_000),
    ],
    ids=lambda value: str(value)[:12].encode("utf-8", "replace").decode(),
)
def test_hostile_texts_are_limited_in_time_and_length(
    start: str, repeated_text: str, count: int
) -> None:
    def build_statements(count: int) -> list[Statement]:
        text = start + repeated_text * count
        return [
            *build_rights_statements(text, StatementSource.META, "rights", "https://e.example/"),
            *build_license_statements(text, StatementSource.META, "license", "https://e.example/"),
        ]

    assert_linear_cpu(build_statements, count)
    for statement in build_statements(count):
        assert len(statement.value) <= VALUE_MAX_CHARS
        assert len(statement.raw) <= RAW_MAX_CHARS
        assert "\x00" not in statement.raw + statement.value
        (statement.value + statement.raw).encode()
