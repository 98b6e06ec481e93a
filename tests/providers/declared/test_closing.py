"""Whatever was taken is given back, backwards, and a part that fails keeps no other from its turn."""

from __future__ import annotations

import anyio
import pytest

from providers.declared.closing import Closing
from spec.errors import ProviderFault


@pytest.mark.anyio
async def test_every_part_is_tried_and_every_failure_told() -> None:
    """Backwards, once, and together."""
    done: list[str] = []
    closing = Closing()

    async def close(name: str, error: Exception | None = None) -> None:
        done.append(name)
        if error is not None:
            raise error

    closing.add("first", lambda: close("first"))
    closing.add("second", lambda: close("second", OSError("busy")))
    closing.add("third", lambda: close("third", ValueError("odd")))
    with pytest.raises(ProviderFault, match="third: ValueError: odd; second: OSError: busy"):
        await closing.close()
    assert done == ["third", "second", "first"]
    await closing.close()
    assert len(done) == 3


@pytest.mark.anyio
async def test_an_undo_is_finished_although_its_task_is_cancelled() -> None:
    """What a failed opening took is given back where the time for opening is over."""
    done: list[str] = []
    closing = Closing()

    async def slowly() -> None:
        await anyio.sleep(5)
        done.append("slowly")

    closing.add("slow part", slowly)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await closing.undo()
    assert done == ["slowly"]
