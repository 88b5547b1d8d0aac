"""Settings: which layer wins, and what is told when one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.config import (
    JOINED_NAMES,
    SETTINGS,
    Settings,
    find_home,
    load_settings,
)
from fonds.model.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No FONDS_ variable of the machine the tests run on."""
    for name in ("HOME", *(name.upper() for name in JOINED_NAMES)):
        monkeypatch.delenv(f"FONDS_{name}", raising=False)


def _file(home: Path, text: str) -> None:
    (home / "fonds.toml").write_text(text, "utf-8")


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


def test_a_home_that_is_not_there_has_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "nowhere") == Settings()


def test_the_file_goes_over_the_default(tmp_path: Path) -> None:
    _file(tmp_path, '[web]\nport = 1\nhost = "0.0.0.0"\n[warc]\ncopy_bodies = true\n')
    settings = load_settings(tmp_path)
    assert (settings.web.port, settings.web.host, settings.warc.copy_bodies) == (1, "0.0.0.0", True)


def test_the_environment_goes_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _file(tmp_path, 'group = "file"\n[web]\nport = 1\n')
    monkeypatch.setenv("FONDS_WEB_PORT", "2")
    settings = load_settings(tmp_path)
    assert (settings.web.port, settings.group) == (2, "file")


def test_the_command_line_goes_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _file(tmp_path, "web.port = 1\nwork.children = 1\npdf_timeout_s = 1\n")
    monkeypatch.setenv("FONDS_WEB_PORT", "2")
    monkeypatch.setenv("FONDS_WORK_CHILDREN", "2")
    settings = load_settings(tmp_path, {"web.port": "3"})
    assert (settings.web.port, settings.work.children, settings.pdf.timeout_s) == (3, 2, 1.0)


def test_flags_are_texts_or_values(tmp_path: Path) -> None:
    settings = load_settings(
        tmp_path, {"warc_copy_bodies": "yes", "web.port": 4, "work.retry_first_s": "0.5"}
    )
    assert (settings.warc.copy_bodies, settings.web.port, settings.work.retry_first_s) == (
        True,
        4,
        0.5,
    )


@pytest.mark.parametrize(
    ("layer", "origin"),
    [("file", "fonds.toml"), ("environment", "the environment"), ("flag", "the command line")],
)
def test_an_unknown_name_tells_where_it_stands_and_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, origin: str
) -> None:
    flags = {}
    if layer == "file":
        _file(tmp_path, "[pdf]\ntimout_s = 3\n")
    elif layer == "environment":
        monkeypatch.setenv("FONDS_PDF_TIMOUT_S", "3")
    else:
        flags["pdf.timout_s"] = "3"
    with pytest.raises(ConfigurationError) as told:
        load_settings(tmp_path, flags)
    point = "_" if layer == "environment" else "."
    assert f"Unknown setting 'pdf{point}timout_s' in" in str(told.value)
    assert origin in str(told.value)
    assert str(told.value).endswith(f"Did you mean 'pdf{point}timeout_s'?")


def test_a_name_like_no_other_tells_where_all_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`fonds doctor` lists all settings"):
        load_settings(tmp_path, {"qqqqqqqqqqqq": "1"})


def test_a_group_is_no_setting_and_a_setting_no_group(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Unknown setting 'pdf'"):
        load_settings(tmp_path, {"pdf": "3"})
    _file(tmp_path, "[group]\nname = 1\n")
    with pytest.raises(ConfigurationError, match=r"Unknown setting 'group\.name'"):
        load_settings(tmp_path)


def test_some_can_be_changed_and_all_are_named() -> None:
    changed = Settings().replace_values(pdf_timeout_s=3, group="other")
    assert (changed.pdf.timeout_s, changed.pdf.pages_max, changed.group) == (3, 2_000, "other")
    assert changed.flatten().keys() == SETTINGS.keys()
    assert changed.flatten()["pdf.timeout_s"] == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("web.port", "many"),
        ("web.port", "70000"),
        ("work.children", "-1"),
        ("pdf.timeout_s", "0"),
        ("work.retry_first_s", "nan"),
        ("warc.version", "2.0"),
        ("warc.copy_bodies", "perhaps"),
        ("page.max_bytes", "1.5"),
        ("web.port", ""),
    ],
)
def test_a_value_of_the_wrong_type_or_size_is_told_with_the_value(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(ConfigurationError) as told:
        load_settings(tmp_path, {name: value})
    assert f"setting {name!r}: " in str(told.value)
    assert f"(it is {value!r})" in str(told.value)


def test_of_some_words_those_there_are_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected one of possible, required"):
        load_settings(tmp_path, {"isolation": "maybe"})


def test_a_value_of_the_wrong_type_in_the_file_is_told(tmp_path: Path) -> None:
    _file(tmp_path, "group = 3\n")
    with pytest.raises(ConfigurationError, match="setting 'group'"):
        load_settings(tmp_path)


@pytest.mark.parametrize("data", [b"port = \n", b"port = 1\nport = 2\n", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "fonds.toml").write_bytes(data)
    with pytest.raises(ConfigurationError, match=r"Cannot read .*fonds\.toml"):
        load_settings(tmp_path)


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "fonds.toml").mkdir()
    with pytest.raises(ConfigurationError, match=r"Cannot read .*fonds\.toml"):
        load_settings(tmp_path)


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Settings().group = "x"  # type: ignore[misc]


def test_the_home_is_the_flag_then_the_variable_then_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_home(None) == tmp_path / "fonds-data"
    monkeypatch.setenv("FONDS_HOME", "from-variable")
    assert find_home(None) == tmp_path / "from-variable"
    assert find_home("/from/flag") == Path("/from/flag")


def test_the_home_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_home("~/library") == tmp_path / "library"


def test_the_home_is_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FONDS_HOME", "elsewhere")
    assert load_settings(tmp_path) == Settings()


@given(st.dictionaries(st.sampled_from(sorted(SETTINGS)), st.text(max_size=12), max_size=4))
def test_whatever_is_given_ends_in_settings_or_a_sentence(flags: dict[str, str]) -> None:
    try:
        told: object = load_settings(Path("/nowhere"), flags)
    except ConfigurationError as error:
        told = error
    assert isinstance(told, Settings) or str(told).startswith("setting ")


def test_a_setting_whose_name_ends_like_a_variable_of_a_file_is_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FONDS_FETCH_CA_FILE", "/etc/ssl/ours.pem")
    assert load_settings(tmp_path).fetch.ca_file == "/etc/ssl/ours.pem"
