"""Child processes that hang, crash, hog and lie, and the pool that outlives them all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import tasks
from fonds.isolation.calls import ChildLimits
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
from fonds.ports import Isolate

LIMITS = ChildLimits(wall_s=20, memory_bytes=2**29, output_max_bytes=2**22)


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(2, LIMITS) as one:
        yield one


def reason_of(
    isolate: Isolate, function: Callable[..., object], *args: object
) -> tuple[Reason, str]:
    with pytest.raises(ChildError) as caught:
        isolate(function, *args)
    return caught.value.reason, caught.value.detail


def test_the_value_of_a_function_comes_back(pool: ChildPool) -> None:
    assert pool(tasks.add, 1, 2) == 3


def test_parameters_with_defaults_may_be_left_out(pool: ChildPool) -> None:
    assert pool(tasks.add, 5) == 5


def test_frozen_values_enums_and_bytes_come_back_whole(pool: ChildPool) -> None:
    thumbnail = bytes(range(256)) * 4_000
    found = pool(tasks.extraction, thumbnail, {"page_count": 3})
    assert found == PdfExtraction(
        PdfStatus.PARTIAL,
        text="é\f",
        pdf_extra={"page_count": 3},
        thumbnails={PAGE0_FORM: thumbnail},
    )


def test_a_function_runs_in_another_process(pool: ChildPool) -> None:
    assert pool(tasks.process_id) != os.getpid()


def test_a_hanging_function_is_killed_in_time(pool: ChildPool) -> None:
    began = time.monotonic()
    short = pool.with_limits(replace(LIMITS, wall_s=0.2))
    assert reason_of(short, tasks.sleep, 60.0) == (
        Reason.TIMEOUT,
        "reading it was stopped after 0.2 s (killed by SIGKILL)",
    )
    assert time.monotonic() - began < 5


def test_native_code_that_never_lets_go_is_killed_too(pool: ChildPool) -> None:
    short = pool.with_limits(replace(LIMITS, wall_s=0.2))
    assert reason_of(short, tasks.hang_in_native_code)[0] is Reason.TIMEOUT


def test_processor_time_is_limited_for_each_call(pool: ChildPool) -> None:
    short = pool.with_limits(replace(LIMITS, cpu_s=1))
    reason, detail = reason_of(short, tasks.spin)
    assert reason is Reason.TIMEOUT
    assert "SIGXCPU" in detail


def test_too_much_memory_is_refused_and_said_so(pool: ChildPool) -> None:
    assert reason_of(pool, tasks.take_memory, 2**30) == (
        Reason.OUT_OF_MEMORY,
        "reading it exceeded the memory limit of 512 MiB",
    )


def test_a_narrower_memory_limit_holds_for_its_call_only(pool: ChildPool) -> None:
    narrow = pool.with_limits(replace(LIMITS, memory_bytes=2**28))
    assert reason_of(narrow, tasks.take_memory, 3 * 2**27)[0] is Reason.OUT_OF_MEMORY
    assert pool(tasks.take_memory, 3 * 2**27) == 3 * 2**27


def test_native_code_that_aborts_close_to_the_limit_is_out_of_memory(pool: ChildPool) -> None:
    reason, detail = reason_of(pool, tasks.take_memory_and_abort, 420 * 2**20)
    assert reason is Reason.OUT_OF_MEMORY
    assert "SIGABRT" in detail
    assert reason_of(pool, tasks.take_memory_and_abort, 1)[0] is Reason.CRASHED_READER


def test_a_segfault_is_a_crashed_reader(pool: ChildPool) -> None:
    assert reason_of(pool, tasks.read_address_0) == (
        Reason.CRASHED_READER,
        "the isolated reader crashed on it (killed by SIGSEGV)",
    )


def test_a_reader_that_leaves_is_a_crashed_reader(pool: ChildPool) -> None:
    assert reason_of(pool, tasks.leave, 3) == (
        Reason.CRASHED_READER,
        "the isolated reader exited with code 3",
    )


def test_an_answer_above_the_limit_is_not_sent(pool: ChildPool) -> None:
    reason, detail = reason_of(pool, tasks.say_much, 2**23)
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
def test_errors_of_the_model_are_raised_again_as_they_were(
    pool: ChildPool, kind: str, expected: type[Exception], reason: Reason | None, text: str
) -> None:
    with pytest.raises(expected) as caught:
        pool(tasks.fail_with, kind)
    assert type(caught.value) is expected
    assert str(caught.value) == text
    assert getattr(caught.value, "reason", None) is reason


def test_any_other_exception_comes_with_the_childs_traceback(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match=r"in fail\n(.|\n)*KeyError: 'unheard of'"):
        pool(tasks.fail, "unheard of")


def test_asking_the_process_to_exit_is_an_exception_like_others(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="SystemExit: 3"):
        pool(tasks.ask_to_leave)


def test_a_value_that_is_no_plain_data_is_a_fault_of_the_function(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="TypeError"):
        pool(tasks.return_no_data)


def test_a_value_of_another_type_than_declared_is_nonsense(pool: ChildPool) -> None:
    reason, detail = reason_of(pool, tasks.return_wrong_type)
    assert reason is Reason.CRASHED_READER
    assert "an invalid answer" in detail


@pytest.mark.parametrize("function", [tasks.answer_nonsense, tasks.answer_unknown_error])
def test_a_child_that_lies_cannot_harm_the_parent(
    pool: ChildPool, function: Callable[[], None]
) -> None:
    reason, detail = reason_of(pool, function)
    assert reason is Reason.CRASHED_READER
    assert "an invalid answer" in detail
    assert pool(tasks.add, 1, 1) == 2


def test_an_endless_answer_is_not_awaited(pool: ChildPool) -> None:
    assert reason_of(pool, tasks.announce, 2**62)[0] is Reason.OUT_OF_MEMORY


def test_a_child_that_hangs_up_and_lives_on_is_killed(pool: ChildPool) -> None:
    assert reason_of(pool, tasks.hang_up) == (
        Reason.CRASHED_READER,
        "the isolated reader closed the connection during the read",
    )


def test_arguments_of_another_type_than_declared_are_a_fault(pool: ChildPool) -> None:
    with pytest.raises(FaultError, match="ValidationError"):
        pool(tasks.add, "one", 2)


@pytest.mark.parametrize("function", [lambda: 1, tasks.untyped, int.__add__])
def test_functions_without_name_or_types_are_refused_at_once(
    pool: ChildPool, function: Callable[..., object]
) -> None:
    with pytest.raises((TypeError, NameError)):
        pool(function, 1)


def test_too_many_arguments_are_refused_at_once(pool: ChildPool) -> None:
    with pytest.raises(TypeError, match="got 3 arguments for 2 parameters"):
        pool(tasks.add, 1, 2, 3)


def test_open_files_are_handed_over_in_the_order_of_the_arguments(
    pool: ChildPool, tmp_path: Path
) -> None:
    with (
        open_unnamed_body(b"one", tmp_path) as one,
        open_unnamed_body(b"another", tmp_path) as other,
    ):
        assert pool(tasks.read_all, one, other) == [b"one", b"another"]
        assert pool(tasks.read_all, other, one) == [b"another", b"one"]


def test_an_open_file_that_is_none_is_refused(pool: ChildPool) -> None:
    with pytest.raises(OSError, match="descriptor"):
        pool(tasks.read_all, OpenBody(-1, 1), OpenBody(-1, 1))
    assert pool(tasks.add, 1, 1) == 2


def test_a_child_sees_nothing_of_its_parents_world(
    pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "word")
    seen = pool(tasks.surroundings)
    assert seen.streams == [Path(os.devnull).stat().st_rdev] * 3
    assert seen.environment == {}
    assert seen.limits == {"CORE": 0, "NOFILE": 64, "FSIZE": 0, "NPROC": 0, "AS": 2**29}
    assert int(Path(f"/proc/{pool(tasks.process_id)}/oom_score_adj").read_text()) > 0
    assert seen.ignores == ["SIGINT", "SIGTERM", "SIGHUP"]


def test_a_pool_needs_a_child() -> None:
    with pytest.raises(ValueError, match="0 children"):
        ChildPool(0)


def test_a_call_may_not_have_more_memory_than_the_pool(pool: ChildPool) -> None:
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
def test_the_signal_that_ended_a_child_tells_why(
    number: int, peak_bytes: int, reason: Reason
) -> None:
    error = build_end_error(ProcessEnd(number, peak_bytes), LIMITS)
    assert isinstance(error, ChildError)
    assert error.reason is reason
