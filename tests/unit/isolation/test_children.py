"""Child processes that hang, crash, use too much memory or send invalid data, and their pool."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import get_type_hints

import pytest

from fixtures import tasks
from fonds.isolation.calls import ChildLimits, NamedFunction
from fonds.isolation.pool import ChildPool, build_end_error, open_unnamed_body
from fonds.isolation.processes import ProcessEnd
from fonds.model.archive import OpenBody
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ChildError,
    ConfigurationError,
    FaultError,
    LimitError,
    PermanentError,
    TransientError,
)
from fonds.model.pdf import PAGE0_FORM, PdfExtraction, PdfStatus
from fonds.model.pdf_extra import PdfExtra
from fonds.ports import Isolate
from fonds.wiring.readers import EXTRACT_PDF, PARSE_PAGE

LIMITS = ChildLimits(wall_s=20, memory_bytes=2**29, output_max_bytes=2**22)


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(2, LIMITS) as opened:
        yield opened


def get_error(
    isolate: Isolate, function: Callable[..., object], *args: object
) -> tuple[Reason, str]:
    with pytest.raises(ChildError) as caught:
        isolate(function, *args)
    return caught.value.reason, caught.value.detail


def test_the_return_value_of_a_function_is_returned(pool: ChildPool) -> None:
    assert pool(tasks.add, 1, 2) == 3


def test_parameters_with_defaults_can_be_omitted(pool: ChildPool) -> None:
    assert pool(tasks.add, 5) == 5


def test_frozen_values_enums_and_bytes_are_returned_unchanged(pool: ChildPool) -> None:
    thumbnail = bytes(range(256)) * 4_000
    extraction = pool(tasks.build_extraction, thumbnail, PdfExtra(page_count=3))
    assert extraction == PdfExtraction(
        PdfStatus.PARTIAL,
        text="é\f",
        pdf_extra=PdfExtra(page_count=3),
        thumbnails={PAGE0_FORM: thumbnail},
    )


def test_a_function_runs_in_another_process(pool: ChildPool) -> None:
    assert pool(tasks.get_process_id) != os.getpid()


def test_a_hanging_function_is_killed_in_time(pool: ChildPool) -> None:
    began = time.monotonic()
    short = pool.with_limits(replace(LIMITS, wall_s=0.2))
    assert get_error(short, tasks.sleep, 60.0) == (
        Reason.TIMEOUT,
        "reading it was stopped after 0.2 s (killed by SIGKILL)",
    )
    assert time.monotonic() - began < 5


def test_hanging_native_code_is_killed_too(pool: ChildPool) -> None:
    short = pool.with_limits(replace(LIMITS, wall_s=0.2))
    assert get_error(short, tasks.hang_in_native_code)[0] is Reason.TIMEOUT


def test_cpu_time_is_limited_per_call(pool: ChildPool) -> None:
    short = pool.with_limits(replace(LIMITS, cpu_s=1))
    reason, detail = get_error(short, tasks.spin)
    assert reason is Reason.TIMEOUT
    assert "SIGXCPU" in detail


def test_exceeding_the_memory_limit_is_reported(pool: ChildPool) -> None:
    assert get_error(pool, tasks.take_memory, 2**30) == (
        Reason.OUT_OF_MEMORY,
        "reading it exceeded the memory limit of 512 MiB",
    )


def test_a_lower_memory_limit_applies_to_its_call_only(pool: ChildPool) -> None:
    narrow = pool.with_limits(replace(LIMITS, memory_bytes=2**28))
    assert get_error(narrow, tasks.take_memory, 3 * 2**27)[0] is Reason.OUT_OF_MEMORY
    assert pool(tasks.take_memory, 3 * 2**27) == 3 * 2**27


def test_native_code_that_aborts_near_the_limit_is_out_of_memory(pool: ChildPool) -> None:
    reason, detail = get_error(pool, tasks.take_memory_and_abort, 420 * 2**20)
    assert reason is Reason.OUT_OF_MEMORY
    assert "SIGABRT" in detail
    assert get_error(pool, tasks.take_memory_and_abort, 1)[0] is Reason.CRASHED_READER


def test_a_segfault_is_a_crashed_reader(pool: ChildPool) -> None:
    assert get_error(pool, tasks.read_address_0) == (
        Reason.CRASHED_READER,
        "the isolated reader crashed on it (killed by SIGSEGV)",
    )


def test_a_reader_that_exits_is_a_crashed_reader(pool: ChildPool) -> None:
    assert get_error(pool, tasks.exit_process, 3) == (
        Reason.CRASHED_READER,
        "the isolated reader exited with code 3",
    )


def test_a_response_over_the_limit_is_refused(pool: ChildPool) -> None:
    reason, detail = get_error(pool, tasks.return_bytes, 2**23)
    assert reason is Reason.OUT_OF_MEMORY
    assert "too large" in detail


@pytest.mark.parametrize(
    ("kind", "expected", "reason", "text"),
    [
        ("limit", LimitError, Reason.BOMB, "far too much"),
        ("permanent", PermanentError, Reason.BROKEN_PDF, "quite broken ?"),
        ("own", PermanentError, Reason.NO_TEXT, "says nothing"),
        ("transient", TransientError, None, "later"),
        ("configuration", ConfigurationError, None, "set this first"),
    ],
)
def test_errors_of_the_model_are_raised_unchanged(
    pool: ChildPool, kind: str, expected: type[Exception], reason: Reason | None, text: str
) -> None:
    with pytest.raises(expected) as caught:
        pool(tasks.fail_with, kind)
    assert type(caught.value) is expected
    assert str(caught.value) == text
    assert getattr(caught.value, "reason", None) is reason


def test_other_exceptions_include_the_traceback_of_the_child(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match=r"in fail\n(.|\n)*KeyError: 'unheard of'"):
        pool(tasks.fail, "unheard of")


def test_a_system_exit_is_reported_like_other_exceptions(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="SystemExit: 3"):
        pool(tasks.raise_system_exit)


def test_a_return_value_that_is_not_plain_data_is_a_fault(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="TypeError"):
        pool(tasks.return_no_data)


def test_a_return_value_of_another_type_is_invalid(pool: ChildPool) -> None:
    reason, detail = get_error(pool, tasks.return_wrong_type)
    assert reason is Reason.CRASHED_READER
    assert "an invalid answer" in detail


@pytest.mark.parametrize("function", [tasks.answer_nonsense, tasks.answer_unknown_error])
def test_a_child_that_sends_invalid_data_cannot_harm_the_parent(
    pool: ChildPool, function: Callable[[], None]
) -> None:
    reason, detail = get_error(pool, function)
    assert reason is Reason.CRASHED_READER
    assert "an invalid answer" in detail
    assert pool(tasks.add, 1, 1) == 2


def test_an_endless_response_is_refused(pool: ChildPool) -> None:
    assert get_error(pool, tasks.announce_size, 2**62)[0] is Reason.OUT_OF_MEMORY


def test_a_child_that_closes_the_connection_and_stays_alive_is_killed(pool: ChildPool) -> None:
    assert get_error(pool, tasks.hang_up) == (
        Reason.CRASHED_READER,
        "the isolated reader closed the connection during the read",
    )


def test_arguments_of_another_type_are_a_fault(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="ValidationError"):
        pool(tasks.add, "one", 2)


@pytest.mark.parametrize("function", [lambda: 1, tasks.return_untyped, int.__add__])
def test_functions_without_name_or_types_are_refused(
    pool: ChildPool, function: Callable[..., object]
) -> None:
    with pytest.raises((TypeError, NameError)):
        pool(function, 1)


def test_too_many_arguments_are_refused(pool: ChildPool) -> None:
    with pytest.raises(TypeError, match="got 3 arguments for 2 parameters"):
        pool(tasks.add, 1, 2, 3)


def test_open_files_are_passed_in_the_order_of_the_arguments(
    pool: ChildPool, tmp_path: Path
) -> None:
    with (
        open_unnamed_body(b"one", tmp_path) as first_file,
        open_unnamed_body(b"another", tmp_path) as second_file,
    ):
        assert pool(tasks.read_all, first_file, second_file) == [b"one", b"another"]
        assert pool(tasks.read_all, second_file, first_file) == [b"another", b"one"]


def test_an_invalid_file_descriptor_is_refused(pool: ChildPool) -> None:
    with pytest.raises(OSError, match="descriptor"):
        pool(tasks.read_all, OpenBody(-1, 1), OpenBody(-1, 1))
    assert pool(tasks.add, 1, 1) == 2


def test_a_child_has_no_environment_files_or_privileges_of_its_parent(
    pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "word")
    environment = pool(tasks.get_process_state)
    assert environment.streams == [Path(os.devnull).stat().st_rdev] * 3
    assert environment.environment == {}
    assert environment.limits == {"CORE": 0, "NOFILE": 64, "FSIZE": 0, "NPROC": 0, "AS": 2**29}
    assert int(Path(f"/proc/{pool(tasks.get_process_id)}/oom_score_adj").read_text()) > 0
    assert environment.ignores == ["SIGINT", "SIGTERM", "SIGHUP"]


def test_a_pool_without_children_is_refused() -> None:
    with pytest.raises(ValueError, match="0 children"):
        ChildPool(0)


def test_a_call_cannot_have_more_memory_than_the_pool(pool: ChildPool) -> None:
    with pytest.raises(ValueError, match="memory"):
        pool.with_limits(replace(LIMITS, memory_bytes=2**40))


@pytest.mark.parametrize(
    ("number", "peak_bytes", "reason"),
    [
        (signal.SIGSEGV, 0, Reason.CRASHED_READER),
        (signal.SIGTRAP, LIMITS.memory_bytes, Reason.OUT_OF_MEMORY),
        (signal.SIGKILL, 0, Reason.OUT_OF_MEMORY),
        (signal.SIGXCPU, 0, Reason.TIMEOUT),
        (63, 0, Reason.CRASHED_READER),
    ],
)
def test_the_signal_that_ended_a_child_determines_the_reason(
    number: int, peak_bytes: int, reason: Reason
) -> None:
    error = build_end_error(ProcessEnd(number, peak_bytes), LIMITS)
    assert isinstance(error, ChildError)
    assert error.reason is reason


@pytest.mark.parametrize("function", [PARSE_PAGE, EXTRACT_PDF], ids=attrgetter("name"))
def test_a_named_function_states_the_type_that_the_function_declares(
    function: NamedFunction[object],
) -> None:
    declared = getattr(import_module(function.module), function.name)
    assert get_type_hints(declared)["return"] is function.return_type
