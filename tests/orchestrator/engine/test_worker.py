"""A trial in a worker: its ways from lease to Finished, and whose fault it is where it goes wrong."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, cast

import anyio
import orjson
import pytest
from anyio import to_thread

from orchestrator.engine import worker as worker_module
from spec.environment import ToolError
from spec.errors import ArmFaultError
from spec.messages import Cause, Failed, Finished, Noted, Opened, WorkerOrders
from spec.report import MESSAGE_CHARS_MAX, AgentReport, ArmFault

MakeBench = Callable[..., Any]
DONE = AgentReport(reported_success=True)


async def writer(task: Any, environment: Any) -> AgentReport:
    await environment.attempt_intended_action()
    return DONE


async def sleeper(task: Any, environment: Any) -> AgentReport:
    await anyio.sleep(3600)
    return DONE


@pytest.mark.anyio
async def test_a_trial_from_lease_to_close(bench: MakeBench) -> None:
    """Opened, then nothing until go, then Finished with report and times; the fixture is closed when told."""
    told: list[Any] = []

    async def arm(task: Any, environment: Any) -> AgentReport:
        told.append(task)
        await anyio.sleep(2)
        await environment.call("write", text=task.params["note"])
        return AgentReport(reported_success=True, message="saved")

    desk = bench({"a": arm})
    async with desk.serving():
        trial = await desk.open("a")
        await anyio.sleep(30)
        assert [type(event) for event in desk.events] == [Opened]
        assert (desk.events[0].ordinal, desk.events[0].attempt) == (trial.ordinal, 1)
        assert desk.events[0].read_path.where == {"worker": "worker-0", "fixture": 1}
        desk.worker.post(WorkerOrders(go=[trial.ordinal]))
        await anyio.sleep(3)
        finished = desk.events[-1]
        assert isinstance(finished, Finished)
        assert finished.report["message"] == "saved"
        assert (finished.fault, finished.detail) == (None, "")
        assert finished.latency_s == pytest.approx(2)
        assert finished.started_at < finished.finished_at
        assert not desk.provider.opened[0].closed
        desk.worker.post(WorkerOrders(close=[trial.ordinal]))
        await desk.settled()
        assert desk.provider.opened[0].closed
        assert len(desk.events) == 2
    assert (told[0].goal, told[0].params, told[0].seed, told[0].deadline_s) == ("Write x.", {"note": "x"}, 7, 60)


@pytest.mark.anyio
async def test_the_environment_is_sealed_before_the_end_is_told(bench: MakeBench) -> None:
    """When Finished is out, the fixture refuses already, and what the arm kept of its environment refuses too."""
    kept: list[Any] = []

    async def arm(task: Any, environment: Any) -> AgentReport:
        await environment.attempt_intended_action()
        kept.append(environment)
        return DONE

    desk = bench({"a": arm})
    put, sealed_at_the_end = desk.worker._outbox.put, []

    def spy(event: Any) -> None:
        if isinstance(event, Finished):
            sealed_at_the_end.append(desk.provider.opened[0].sealed)
        put(event)

    desk.worker._outbox.put = spy
    async with desk.serving():
        await desk.play("a")
        assert sealed_at_the_end == [True]
        with pytest.raises(ToolError):
            await kept[0].attempt_intended_action()
        assert desk.provider.opened[0].notes == ["x"]


@pytest.mark.anyio
async def test_an_arm_that_leaves_a_task_behind_writes_nothing_more(bench: MakeBench) -> None:
    """What still runs in the trial's context after its report finds the environment sealed."""
    refused: list[str] = []

    async def arm(task: Any, environment: Any) -> AgentReport:
        async def later() -> None:
            await anyio.sleep(5)
            try:
                await environment.attempt_intended_action()
            except ToolError as error:
                refused.append(str(error))

        background.start_soon(later)
        await anyio.sleep(1)
        return DONE

    desk = bench({"a": arm})
    async with anyio.create_task_group() as background, desk.serving():
        finished = await desk.play("a", wait_s=10)
        assert finished.report["reported_success"] is True
        assert refused == ["this environment is sealed: the trial is over"]
        assert desk.provider.opened[0].notes == []


def raising(error: BaseException) -> Any:
    async def arm(task: Any, environment: Any) -> AgentReport:
        await environment.attempt_intended_action()
        raise error

    return arm


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


def odd_fault(kind: object, detail: object) -> ArmFaultError:
    error = ArmFaultError(ArmFault.TIMEOUT, "so")
    error.kind, error.detail = cast(Any, kind), cast(Any, detail)
    return error


FAULTS = [
    (RuntimeError("oops"), ArmFault.RAISED, "RuntimeError: oops"),
    (TimeoutError(), ArmFault.RAISED, "TimeoutError"),
    (ToolError("no such tool"), ArmFault.RAISED, "ToolError: no such tool"),
    (Mute(), ArmFault.RAISED, "Mute: (its text cannot be had)"),
    (RuntimeError("half a pair: \ud800"), ArmFault.RAISED, "RuntimeError: half a pair: ?"),
    (odd_fault("made up", "so"), ArmFault.RAISED, "ArmFaultError: timeout: so"),
    (odd_fault(ArmFault.REFUSAL, None), ArmFault.RAISED, "ArmFaultError: timeout: so"),
    (odd_fault(ArmFault.REFUSAL, "\ud800"), ArmFault.REFUSAL, "?"),
    (KeyboardInterrupt(), ArmFault.EXITED, "KeyboardInterrupt"),
    (SystemExit(3), ArmFault.EXITED, "SystemExit: 3"),
    (BaseExceptionGroup("two", [SystemExit(1)]), ArmFault.EXITED, "BaseExceptionGroup: two (1 sub-exception)"),
    *[(ArmFaultError(kind, "so"), kind, "so") for kind in ArmFault],
]


@pytest.mark.anyio
@pytest.mark.parametrize(("error", "fault", "detail"), FAULTS, ids=[repr(case[0])[:40] for case in FAULTS])
async def test_whatever_an_arm_raises_is_its_own_fault(
    bench: MakeBench, error: BaseException, fault: ArmFault, detail: str
) -> None:
    """The trial is told as finished with the fault, has not reported success, and the worker goes on."""
    desk = bench({"bad": raising(error), "good": writer})
    async with desk.serving():
        finished = await desk.play("bad")
        assert isinstance(finished, Finished)
        assert (finished.fault, finished.detail) == (fault, detail)
        assert finished.report == {"reported_success": False, "halted": True, "message": detail, "model_calls": []}
        assert (await desk.play("good")).fault is None


@pytest.mark.anyio
async def test_an_arm_may_not_pretend_to_be_cancelled(bench: MakeBench) -> None:
    """A cancellation that nobody asked for is an exception like any other, and its task goes on."""
    cancelled = anyio.get_cancelled_exc_class()
    desk = bench({"bad": raising(cancelled("mine")), "good": writer})
    async with desk.serving():
        for _ in range(3):
            finished = await desk.play("bad")
            assert (finished.fault, finished.detail) == (ArmFault.RAISED, "CancelledError: mine")
        assert (await desk.play("good")).fault is None


GARBAGE = [None, 5, "yes", [], {}, {"reported_success": "yes"}, {"reported_success": True, "extra": 1}, object()]


@pytest.mark.anyio
@pytest.mark.parametrize("answer", GARBAGE, ids=[repr(answer)[:20] for answer in GARBAGE])
async def test_what_is_no_report_is_malformed(bench: MakeBench, answer: object) -> None:
    """Nothing is coerced: the fault is malformed, and the detail says what is wrong."""

    async def arm(task: Any, environment: Any) -> Any:
        return answer

    desk = bench({"a": arm})
    async with desk.serving():
        finished = await desk.play("a")
        assert finished.fault is ArmFault.MALFORMED
        assert finished.detail.startswith("MalformedReport: ")
        assert finished.report["reported_success"] is False


@pytest.mark.anyio
async def test_a_report_that_is_too_large_is_malformed(bench: MakeBench) -> None:
    """Both sizes are told, and a report of just the limit is taken."""

    async def arm(task: Any, environment: Any) -> AgentReport:
        return AgentReport(reported_success=True, message="x" * MESSAGE_CHARS_MAX)

    size = len(orjson.dumps({"reported_success": True, "halted": False, "message": "", "model_calls": []}))
    size += MESSAGE_CHARS_MAX
    for limit, fault in ((size, None), (size - 1, ArmFault.MALFORMED)):
        desk = bench({"a": arm}, report_bytes_max=limit)
        async with desk.serving():
            finished = await desk.play("a")
            assert finished.fault is fault
            if fault is not None:
                assert f"has {size} bytes, at most {limit} are allowed" in finished.detail


@pytest.mark.anyio
async def test_an_arm_that_hangs_is_stopped_at_its_deadline(bench: MakeBench) -> None:
    """It is told once, as a timeout, soon after its deadline; others are not held up."""
    desk = bench({"slow": sleeper, "quick": writer}, deadline_s=10)
    async with desk.serving():
        slow = await desk.open("slow")
        desk.worker.post(WorkerOrders(go=[slow.ordinal]))
        assert (await desk.play("quick")).fault is None
        await anyio.sleep(9.9)
        assert [type(event) for event in desk.about(slow.ordinal)] == [Opened]
        await anyio.sleep(0.2)
        finished = desk.about(slow.ordinal)[-1]
        assert (finished.fault, finished.detail) == (ArmFault.TIMEOUT, "no report within 10 s")
        await anyio.sleep(100)
        assert len(desk.about(slow.ordinal)) == 2
        assert desk.provider.opened[0].sealed


@pytest.mark.anyio
async def test_a_report_after_the_deadline_does_not_count(bench: MakeBench) -> None:
    """An arm that swallows its cancellation and then claims success is a timeout."""

    async def stubborn(task: Any, environment: Any) -> AgentReport:
        try:
            await anyio.sleep(3600)
        except anyio.get_cancelled_exc_class():
            return DONE
        return AgentReport(reported_success=False)

    desk = bench({"a": stubborn, "b": writer}, deadline_s=5)
    async with desk.serving():
        finished = await desk.play("a", wait_s=6)
        assert finished.fault is ArmFault.TIMEOUT
        assert finished.report["reported_success"] is False
        assert len([event for event in desk.events if isinstance(event, Finished)]) == 1
        assert (await desk.play("b")).fault is None


@pytest.mark.anyio
async def test_an_arm_that_is_idle_is_stopped(bench: MakeBench) -> None:
    """Without a use of its environment for so long it is a timeout; each use gives it as long again."""

    async def busy(task: Any, environment: Any) -> AgentReport:
        for _ in range(5):
            await anyio.sleep(8)
            await environment.attempt_intended_action()
        return DONE

    desk = bench({"idle": sleeper, "busy": busy}, idle_s=10)
    async with desk.serving():
        finished = await desk.play("idle", wait_s=10.2)
        assert (finished.fault, finished.detail) == (ArmFault.TIMEOUT, "no use of the environment for 10 s")
        assert (await desk.play("busy", wait_s=41)).fault is None


@pytest.mark.anyio
async def test_waiting_for_go_is_not_being_idle(bench: MakeBench) -> None:
    """An arm's idle time and deadline begin when it starts, however long its fixture stood open before."""
    desk = bench({"a": writer}, idle_s=10, deadline_s=10)
    async with desk.serving():
        trial = await desk.open("a")
        await anyio.sleep(500)
        desk.worker.post(WorkerOrders(go=[trial.ordinal]))
        await desk.settled()
        assert desk.events[-1].fault is None


@pytest.mark.anyio
async def test_an_idle_arm_cannot_report_once_it_is_stopped(bench: MakeBench) -> None:
    """An arm that swallows the end for being idle has not reported."""

    async def stubborn(task: Any, environment: Any) -> AgentReport:
        try:
            await anyio.sleep(3600)
        except anyio.get_cancelled_exc_class():
            return DONE
        return AgentReport(reported_success=False)

    desk = bench({"a": stubborn}, idle_s=5)
    async with desk.serving():
        finished = await desk.play("a", wait_s=6)
        assert (finished.fault, finished.report["reported_success"]) == (ArmFault.TIMEOUT, False)


@pytest.mark.anyio
async def test_an_unplanned_failure_of_a_tool_is_nobodys_verdict(bench: MakeBench) -> None:
    """It is infrastructure, whether the arm gives up or swallows it and claims success."""

    async def gives_up(task: Any, environment: Any) -> AgentReport:
        await environment.call("broken")
        return DONE

    async def swallows(task: Any, environment: Any) -> AgentReport:
        try:
            await environment.call("broken")
        except ConnectionError:
            await environment.attempt_intended_action()
        return DONE

    desk = bench({"gives_up": gives_up, "swallows": swallows})
    async with desk.serving():
        for arm in ("gives_up", "swallows"):
            failed = await desk.play(arm)
            assert isinstance(failed, Failed)
            assert failed.cause is Cause.PROVIDER
            assert failed.detail == "tool broken: ConnectionError: the service is down"


@pytest.mark.anyio
async def test_a_wrong_call_is_the_arms_business(bench: MakeBench) -> None:
    """A ToolError that the arm handles leaves its report as it is."""

    async def clumsy(task: Any, environment: Any) -> AgentReport:
        try:
            await environment.call("wriet")
        except ToolError as error:
            return AgentReport(reported_success=False, halted=True, message=str(error))
        return DONE

    desk = bench({"a": clumsy})
    async with desk.serving():
        finished = await desk.play("a")
        assert (finished.fault, finished.report["message"]) == (None, "no tool is called 'wriet'")


@pytest.mark.anyio
async def test_a_blocking_arm_gets_a_thread(bench: MakeBench) -> None:
    """A plain function acts through plain methods, off the loop, and its errors are placed like all others."""
    threads: list[threading.Thread] = []

    def blocking(task: Any, environment: Any) -> AgentReport:
        threads.append(threading.current_thread())
        environment.call("write", text=task.goal)
        return DONE

    def leaving(task: Any, environment: Any) -> AgentReport:
        raise SystemExit(1)

    desk = bench({"blocking": blocking, "leaving": leaving})
    async with desk.serving():
        finished = await desk.play_out("blocking")
        assert finished.fault is None
        assert desk.provider.opened[0].notes == ["Write x."]
        assert threads[0] is not threading.main_thread()
        assert (await desk.play_out("leaving")).fault is ArmFault.EXITED


@pytest.mark.anyio
async def test_a_blocking_arm_that_hangs_is_left_behind(bench: MakeBench) -> None:
    """At its deadline the trial ends as a timeout; when the thread wakes up, its environment refuses."""
    release, woken, refused = threading.Event(), threading.Event(), list[str]()

    def hanging(task: Any, environment: Any) -> AgentReport:
        release.wait(30)
        try:
            environment.attempt_intended_action()
        except ToolError as error:
            refused.append(str(error))
        woken.set()
        return DONE

    desk = bench({"a": hanging}, deadline_s=0.2)
    async with desk.serving():
        finished = await desk.play_out("a")
        assert (finished.fault, finished.detail) == (ArmFault.TIMEOUT, "no report within 0.2 s")
        release.set()
        await to_thread.run_sync(woken.wait, 30)
        assert len(refused) == 1
        assert desk.provider.opened[0].notes == []
        assert len(desk.events) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("error", [GeneratorExit(), StopIteration(3), KeyboardInterrupt(), SystemExit(0)])
async def test_whatever_a_blocking_arm_raises_ends_its_own_trial_only(bench: MakeBench, error: BaseException) -> None:
    """What a blocking arm raises is its trial's fault, also where asyncio would end a task for it."""

    def blocking(task: Any, environment: Any) -> AgentReport:
        raise error

    desk = bench({"bad": blocking, "good": writer})
    async with desk.serving():
        assert (await desk.play_out("bad")).fault in (ArmFault.RAISED, ArmFault.EXITED)
        assert (await desk.play_out("good")).fault is None


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("blocking", [False, True])
async def test_a_copy_that_an_arm_forks_ends_with_the_arm(bench: MakeBench, blocking: bool, wait: bool) -> None:
    """An arm that forks and goes on in both processes ends once: its copy is gone, whether it returns or acts."""
    copies: list[int] = []

    async def forks(task: Any, environment: Any) -> AgentReport:
        copies.append(os.fork())
        if wait:
            await anyio.sleep(0.01)
        return DONE

    def forks_in_a_thread(task: Any, environment: Any) -> AgentReport:
        copies.append(os.fork())
        if wait:
            environment.attempt_intended_action()
        return DONE

    desk = bench({"a": forks_in_a_thread if blocking else forks})
    async with desk.serving():
        assert (await desk.play_out("a")).fault is None
        with anyio.fail_after(10):
            _, status = await to_thread.run_sync(os.waitpid, copies[0], 0)
        assert status == 0


@pytest.mark.anyio
async def test_a_worker_with_too_many_stuck_threads_is_worn_out(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can end a thread; so the worker ends with a note before it can start no more for other arms."""
    monkeypatch.setattr(worker_module, "STUCK_THREADS_MAX", 3)
    go_on = threading.Event()

    def stuck(task: Any, environment: Any) -> None:
        go_on.wait(60)

    scene = bench({"stuck": stuck}, deadline_s=0.2, threads_max=2)
    try:
        async with scene.serving():
            for _ in range(3):
                trial = await scene.open("stuck")
                scene.worker.post(WorkerOrders(go=[trial.ordinal]))
            with anyio.fail_after(3600):
                await scene.ended.wait()
        assert Noted("3 arms are past their deadline and still hold a thread each") in scene.events
        assert all(fixture.closed for fixture in scene.provider.opened)
    finally:
        go_on.set()


@pytest.mark.anyio
async def test_arms_that_hang_take_no_threads_from_others(bench: MakeBench) -> None:
    """As many hung arms as there are threads leave a thread for every arm that comes after them."""
    release = threading.Event()

    def hanging(task: Any, environment: Any) -> AgentReport:
        release.wait(30)
        return DONE

    def quick(task: Any, environment: Any) -> AgentReport:
        return DONE

    desk = bench({"hanging": hanging, "quick": quick}, deadline_s=0.2, threads_max=1)
    async with desk.serving():
        for _ in range(2):
            assert (await desk.play_out("hanging")).fault is ArmFault.TIMEOUT
            assert (await desk.play_out("quick")).fault is None
        release.set()
