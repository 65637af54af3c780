"""A stream sees every event once and in order, or is told that it missed some; publishing never waits for a reader."""

from __future__ import annotations

import asyncio
import json
import threading

from compilemask_studio.events import EventBroker, StreamEvent
from compilemask_studio.models import Run
from compilemask_studio.services.views import run_public


def publish(broker: EventBroker, run: Run, *ids: int) -> None:
    for number in ids:
        run.id = number
        broker.publish_run(run_public(run))


def run_ids(events: list[StreamEvent]) -> list[int]:
    return [json.loads(event.data)["run"]["id"] for event in events if event.kind == "run"]


async def take(broker: EventBroker, last_event_id: str | None, count: int) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    async for event in broker.subscribe(last_event_id):
        events.append(event)
        if len(events) == count:
            break
    return events


def test_a_stream_begins_with_the_number_from_which_it_can_resume(make_run) -> None:
    async def scenario() -> list[StreamEvent]:
        broker = EventBroker()
        publish(broker, make_run(), 1, 2)
        (first,) = await take(broker, None, 1)
        publish(broker, make_run(), 3, 4)
        return [first, *await take(broker, str(first.number), 2)]

    first, *rest = asyncio.run(scenario())
    assert (first.kind, first.data) == (None, None)
    assert run_ids(rest) == [3, 4]
    assert [event.number - first.number for event in rest] == [1, 2]


def test_resuming_sends_what_came_since_and_nothing_twice(make_run) -> None:
    async def scenario() -> list[list[int]]:
        broker = EventBroker()
        (start,) = await take(broker, None, 1)
        publish(broker, make_run(), 1, 2, 3)
        first = await take(broker, str(start.number), 2)
        publish(broker, make_run(), 4)
        return [run_ids(first), run_ids(await take(broker, str(first[-1].number), 2))]

    assert asyncio.run(scenario()) == [[1, 2], [3, 4]]


def test_a_number_that_is_too_old_unknown_or_no_number_gives_a_reset(make_run) -> None:
    async def scenario() -> list[str | None]:
        broker = EventBroker(max_events=2)
        (start,) = await take(broker, None, 1)
        publish(broker, make_run(), 1, 2, 3)
        kinds = []
        for last in (str(start.number), str(start.number + 99), "7", "abc", "", "-1", "९" * 3):
            kinds += [event.kind for event in await take(broker, last, 1)]
        return kinds

    assert asyncio.run(scenario()) == ["reset"] * 7


def test_the_ring_is_bounded_by_characters_too(make_run) -> None:
    async def scenario() -> list[StreamEvent]:
        broker = EventBroker(max_chars=5000)
        (start,) = await take(broker, None, 1)
        publish(broker, make_run(source="x" * 4000), 1, 2)
        return await take(broker, str(start.number), 1) + await take(broker, str(start.number + 1), 1)

    reset, last = asyncio.run(scenario())
    assert reset.kind == "reset" and run_ids([last]) == [2]


def test_events_from_other_threads_reach_every_open_stream(make_run) -> None:
    async def scenario() -> list[list[int]]:
        broker = EventBroker()
        streams = [asyncio.create_task(take(broker, None, 51)) for _ in range(3)]
        await asyncio.sleep(0.05)
        thread = threading.Thread(target=publish, args=(broker, make_run(), *range(1, 51)))
        thread.start()
        taken = await asyncio.wait_for(asyncio.gather(*streams), 10)
        thread.join()
        return [run_ids(events) for events in taken]

    assert asyncio.run(scenario()) == [list(range(1, 51))] * 3


def test_closing_ends_streams_that_wait_and_those_that_come_later() -> None:
    async def scenario() -> list[list[StreamEvent]]:
        broker = EventBroker()
        waiting = asyncio.create_task(take(broker, None, 2))
        await asyncio.sleep(0.05)
        broker.close()
        return [await asyncio.wait_for(waiting, 5), await asyncio.wait_for(take(broker, None, 2), 5)]

    assert [len(events) for events in asyncio.run(scenario())] == [1, 1]


def test_numbers_of_a_later_server_are_higher(make_run) -> None:
    async def scenario() -> int:
        broker = EventBroker()
        (start,) = await take(broker, None, 1)
        return start.number

    earlier, later = asyncio.run(scenario()), asyncio.run(scenario())
    assert earlier <= later and earlier > 1_700_000_000_000
