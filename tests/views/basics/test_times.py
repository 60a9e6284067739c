"""Times are shown in the zone of the machine, which the edges of the program hand to the views."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from pixirnb.views.basics.times import in_utc, moment, show_times, time_of_day
from pixirnb.wording import local_time


@pytest.fixture
def berlin() -> Iterator[None]:
    """A machine in Berlin."""
    before = os.environ["TZ"]
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    show_times(local_time)
    yield
    show_times(in_utc)
    os.environ["TZ"] = before
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_a_moment_is_shown_in_the_local_zone_of_its_day_and_names_it() -> None:
    assert moment("2026-11-24T23:30:11.123456Z") == "2026-11-25 00:30:11 CET"
    assert moment("2026-07-01T12:00:00.000000Z") == "2026-07-01 14:00:00 CEST"
    assert time_of_day("2026-07-01T12:00:00.000000Z") == "14:00:00 CEST"


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("text", ["", "soon", "2026-11-24T23:30:11", "2026-13-24T23:30:11Z"])
def test_what_is_no_moment_has_no_local_time(text: str) -> None:
    assert moment(text) == ""
