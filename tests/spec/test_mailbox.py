"""A mailbox loses nothing, keeps the order and lets messages travel together."""

from __future__ import annotations

import anyio
import pytest

from spec.mailbox import Mailbox


@pytest.mark.anyio
async def test_what_is_put_comes_out_together_and_in_order() -> None:
    """Everything that has piled up is one batch."""
    box: Mailbox[int] = Mailbox()
    for number in range(5):
        box.put(number)
    assert await box.take_all() == [0, 1, 2, 3, 4]


@pytest.mark.anyio
async def test_a_reader_waits_for_the_first_message() -> None:
    """Taking from an empty box waits until something is put, and then takes it at once."""
    box: Mailbox[int] = Mailbox()
    taken: list[tuple[float, list[int]]] = []

    async def read() -> None:
        for _ in range(2):
            batch = await box.take_all()
            taken.append((anyio.current_time(), batch))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.sleep(3)
        box.put(1)
        await anyio.sleep(4)
        box.put(2)
        box.put(3)
    start = taken[0][0] - 3
    assert [(round(at - start, 6), batch) for at, batch in taken] == [(3, [1]), (7, [2, 3])]


@pytest.mark.anyio
async def test_messages_within_the_coalescing_time_travel_together() -> None:
    """The reader waits that long after the first message for others, and no longer."""
    box: Mailbox[str] = Mailbox()
    batches: list[list[str]] = []

    async def read() -> None:
        batches.append(await box.take_all(0.005))
        batches.append(await box.take_all(0.005))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        box.put("a")
        await anyio.sleep(0.004)
        box.put("b")
        await anyio.sleep(0.004)
        box.put("c")
    assert batches == [["a", "b"], ["c"]]


@pytest.mark.anyio
async def test_a_closed_box_gives_its_rest_and_then_nothing() -> None:
    """After closing, what is left comes out once, then empty lists, without waiting for company."""
    box: Mailbox[int] = Mailbox()
    box.put(1)
    box.close()
    began = anyio.current_time()
    assert await box.take_all(60) == [1]
    assert await box.take_all(60) == []
    assert anyio.current_time() == began


@pytest.mark.anyio
async def test_closing_wakes_a_reader_that_waits() -> None:
    """A reader never waits for a box that is closed."""
    box: Mailbox[int] = Mailbox()
    batches: list[list[int]] = []

    async def read() -> None:
        batches.append(await box.take_all())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.sleep(1)
        box.close()
    assert batches == [[]]


@pytest.mark.anyio
async def test_a_reader_that_is_cancelled_takes_nothing() -> None:
    """Messages that come after a cancelled read, or during its coalescing, are there for the next one."""
    box: Mailbox[int] = Mailbox()
    with anyio.move_on_after(1):
        await box.take_all()
    box.put(1)
    with anyio.move_on_after(1):
        await box.take_all(5)
    box.put(2)
    assert await box.take_all() == [1, 2]
