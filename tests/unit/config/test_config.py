"""Settings: precedence of the layers, and messages about invalid settings."""

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
def _clear_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the FONDS_ variables of this machine."""
    for name in ("HOME", *(name.upper() for name in JOINED_NAMES)):
        monkeypatch.delenv(f"FONDS_{name}", raising=False)


def _write_file(home: Path, text: str) -> None:
    (home / "fonds.toml").write_text(text, "utf-8")


def test_without_any_layer_the_defaults_apply(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


def test_a_missing_home_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "nowhere") == Settings()


def test_the_file_overrides_the_defaults(tmp_path: Path) -> None:
    _write_file(tmp_path, '[web]\nport = 1\nhost = "0.0.0.0"\n[warc]\ncopy_bodies = true\n')
    settings = load_settings(tmp_path)
    assert (settings.web.port, settings.web.host, settings.warc.copy_bodies) == (1, "0.0.0.0", True)


def test_the_environment_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_file(tmp_path, 'group = "file"\n[web]\nport = 1\n')
    monkeypatch.setenv("FONDS_WEB_PORT", "2")
    settings = load_settings(tmp_path)
    assert (settings.web.port, settings.group) == (2, "file")


def test_the_command_line_overrides_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_file(tmp_path, "web.port = 1\nwork.children = 1\npdf_timeout_s = 1\n")
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
def test_an_unknown_setting_is_reported_with_its_origin_and_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, origin: str
) -> None:
    flags = {}
    if layer == "file":
        _write_file(tmp_path, "[pdf]\ntimout_s = 3\n")
    elif layer == "environment":
        monkeypatch.setenv("FONDS_PDF_TIMOUT_S", "3")
    else:
        flags["pdf.timout_s"] = "3"
    with pytest.raises(ConfigurationError) as raised:
        load_settings(tmp_path, flags)
    separator = "_" if layer == "environment" else "."
    assert f"Unknown setting 'pdf{separator}timout_s' in" in str(raised.value)
    assert origin in str(raised.value)
    assert str(raised.value).endswith(f"Did you mean 'pdf{separator}timeout_s'?")


def test_a_setting_without_similar_names_refers_to_doctor(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`fonds doctor` lists all settings"):
        load_settings(tmp_path, {"qqqqqqqqqqqq": "1"})


def test_groups_and_settings_are_not_interchangeable(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Unknown setting 'pdf'"):
        load_settings(tmp_path, {"pdf": "3"})
    _write_file(tmp_path, "[group]\nname = 1\n")
    with pytest.raises(ConfigurationError, match=r"Unknown setting 'group\.name'"):
        load_settings(tmp_path)


def test_values_are_replaced_by_short_names_and_all_are_listed() -> None:
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
def test_an_invalid_value_is_reported(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_settings(tmp_path, {name: value})
    assert f"setting {name!r}: " in str(raised.value)
    assert f"(it is {value!r})" in str(raised.value)


def test_an_invalid_choice_lists_the_choices(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected one of possible, required"):
        load_settings(tmp_path, {"isolation": "maybe"})


def test_a_value_of_the_wrong_type_in_the_file_raises(tmp_path: Path) -> None:
    _write_file(tmp_path, "group = 3\n")
    with pytest.raises(ConfigurationError, match="setting 'group'"):
        load_settings(tmp_path)


@pytest.mark.parametrize("data", [b"port = \n", b"port = 1\nport = 2\n", b"\xff\xfe\x00"])
def test_an_unreadable_file_raises_with_its_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "fonds.toml").write_bytes(data)
    with pytest.raises(ConfigurationError, match=r"Cannot read .*fonds\.toml"):
        load_settings(tmp_path)


def test_a_folder_in_place_of_the_file_raises(tmp_path: Path) -> None:
    (tmp_path / "fonds.toml").mkdir()
    with pytest.raises(ConfigurationError, match=r"Cannot read .*fonds\.toml"):
        load_settings(tmp_path)


def test_settings_are_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Settings().group = "x"  # type: ignore[misc]


def test_the_home_is_the_flag_the_variable_or_the_default(
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


def test_the_home_is_not_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FONDS_HOME", "elsewhere")
    assert load_settings(tmp_path) == Settings()


@given(st.dictionaries(st.sampled_from(sorted(SETTINGS)), st.text(max_size=12), max_size=4))
def test_any_flags_give_settings_or_a_message(flags: dict[str, str]) -> None:
    try:
        outcome: object = load_settings(Path("/nowhere"), flags)
    except ConfigurationError as error:
        outcome = error
    assert isinstance(outcome, Settings) or str(outcome).startswith("setting ")


def test_a_setting_named_like_a_file_variable_is_read_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FONDS_FETCH_CA_FILE", "/etc/ssl/ours.pem")
    assert load_settings(tmp_path).fetch.ca_file == "/etc/ssl/ours.pem"
