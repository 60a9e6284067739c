"""An agent that insists on a terminal gets one; what it painted is kept, what it said is plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.runners.output.unseen import plain
from pixirnb.testing.fakes.agent_stage import coding_agent, fake, session_events, staged


def test_it_has_a_terminal_of_its_own_and_its_message_is_plain(tmp_path: Path) -> None:
    work = coding_agent("pty", fake("pty", "say:Hello ✓"), tmp_path)
    ended, rehearsal = staged(work, tmp_path)
    assert ended.status == "completed"
    assert "\x1b[1;32mHello ✓\x1b[0m" in rehearsal.text()
    [(_, message)] = session_events(rehearsal)
    assert message == {"text": "50x200, own: True\nHello ✓", "partial": False, "final": True}


def test_its_exit_code_is_its_end_and_what_it_said_is_partial(tmp_path: Path) -> None:
    ended, rehearsal = staged(
        coding_agent("pty", fake("pty", "say:half", "exit:3"), tmp_path), tmp_path
    )
    assert (ended.status, ended.error_kind) == ("failed", "exit")
    assert ended.details == {"exit_code": 3, "said": "half"}
    [(_, message)] = session_events(rehearsal)
    assert message["partial"] is True
    assert message["text"].endswith("half")


def test_a_stop_ends_it_and_what_it_said_is_kept(tmp_path: Path) -> None:
    work = coding_agent("pty", fake("pty", "say:ready", "hang"), tmp_path)
    ended, rehearsal = staged(work, tmp_path, stop_at="ready")
    assert ended.status == "cancelled"
    [(_, message)] = session_events(rehearsal)
    assert message["partial"] is True


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("a\r\nb", "a\nb"),
        ("10%\r100%", "100%"),
        ("100%\r", "100%"),
        ("\x1b]0;title\x07x\x1b]8;;http://h\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("ab\b\bcd", "cd"),
        ("\b\bx", "x"),
        ("\x1b(B\x1b=\x1b[?25l\x1b[2K\x07ok", "ok"),
        ("cut \x1b", "cut "),
        ("\x1b]0;never ended\nsaid", "0;never ended\nsaid"),
        ("tab\tstays", "tab\tstays"),
    ],
    ids=ascii,
)
def test_what_was_painted_is_told_as_it_stood_at_last(written: str, said: str) -> None:
    assert plain(written) == said


def test_a_megabyte_of_half_an_escape_is_no_trap() -> None:
    for piece in ("\x1b", "\x1b[", "\x1b]", "\x1bP", "\b", "\r", "\x1b[1"):
        plain(piece * (1_000_000 // len(piece)))
