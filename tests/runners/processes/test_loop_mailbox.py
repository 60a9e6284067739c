"""What a thread tells the loop arrives in order; small pieces of one stream go together."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import anyio

from pixirnb.runners.processes.loop_mailbox import Mailbox, StreamChunk
from pixirnb.runners.python.thread_output import StreamName


def test_small_pieces_that_wait_go_together_and_everything_arrives_in_order() -> None:
    async def told() -> list[object]:
        heard: list[object] = []
        mailbox = Mailbox()
        post = partial(_post, mailbox, heard)
        for _ in range(500):
            post("stdout", b"o")
        post("stderr", b"e")
        mailbox.post(lambda: heard.append("something else"))
        post("stderr", b"f")
        post("stderr", b"x" * 65_536)
        post("stderr", b"g")
        await anyio.sleep(0.01)
        post("stderr", b"later")
        await anyio.sleep(0.01)
        return heard

    assert anyio.run(told) == [
        ("stdout", b"o" * 500),
        ("stderr", b"e"),
        "something else",
        ("stderr", b"f"),
        ("stderr", b"x" * 65_536),
        ("stderr", b"g"),
        ("stderr", b"later"),
    ]


def test_what_comes_after_a_call_that_raises_arrives_all_the_same() -> None:
    heard: list[str] = []
    reported: list[str] = []

    def fail() -> None:
        raise ValueError("a bug")

    async def told() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(str(context["exception"])))
        mailbox = Mailbox()
        for call in (fail, lambda: heard.append("the end"), fail):
            mailbox.post(call)
        await anyio.sleep(0.01)

    anyio.run(told)
    assert (heard, reported) == (["the end"], ["a bug"])


def _post(mailbox: Mailbox, heard: list[object], stream: StreamName, data: bytes) -> None:
    mailbox.post(StreamChunk(stream, bytearray(data), lambda *told: heard.append(told)), len(data))


def test_a_thread_waits_no_longer_for_a_full_mailbox_once_its_loop_is_closed() -> None:
    loop = asyncio.new_event_loop()

    async def made() -> Mailbox:
        return Mailbox()

    mailbox = loop.run_until_complete(made())
    assert all(mailbox.post(lambda: None) for _ in range(1_000))
    posted: list[bool] = []
    thread = threading.Thread(target=lambda: posted.append(mailbox.post(lambda: None)), daemon=True)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    loop.close()
    thread.join(10)
    assert posted == [False]
