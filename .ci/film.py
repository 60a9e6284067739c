"""Film the live view for README and the docs: a run in JupyterLab, from its start to its replay.

python .ci/film.py, or `make film`: writes docs/images/live-view.webp.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.chromium import chromium  # noqa: E402 - the tests are no package of the venv
from tests.browser.jupyter_servers import Server  # noqa: E402
from tests.browser.notebook_page import Notebook, written  # noqa: E402

FILM = ROOT / "docs" / "images" / "live-view.webp"
WIDTH, HEIGHT = 1046, 410
FRAME_S = 0.12
LAST_MS = 2_500
RUN = """%%workflow weekly --run
steps:
  - {id: fetch, run: "for i in 1 2 3; do echo fetching page $i of 3; sleep 0.5; done", posture: read_only}
  - {id: clean, run: "sleep 0.8; echo clean", posture: read_only, depends_on: [fetch]}
  - {id: split, run: "sleep 1.1; echo split", posture: read_only, depends_on: [fetch]}
  - {id: train, posture: read_only, depends_on: [clean, split],
     run: "echo epoch 1; sleep 1; test -e lower || { echo 'ValueError: loss is nan' >&2; exit 2; }; sleep 0.4"}
  - {id: review, ask: {question: "Is the split fair?", choices: ["yes", "no"]}, depends_on: [split]}
  - {id: publish, run: "sleep 0.6; echo published", posture: read_only, depends_on: [review, train]}
"""


class Film:
    """Frames of a place in a page, each with the time for which it is shown."""

    def __init__(self, notebook: Notebook, place: Locator) -> None:
        self._notebook = notebook
        self._place = place
        self._frames: list[Image.Image] = []
        self._times: list[float] = []

    def roll(self, seconds: float, act: Callable[[], object] | None = None) -> None:
        """Do something, and film what follows."""
        if act is not None:
            act()
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            box = self._place.bounding_box()
            assert box is not None
            clip = {"x": box["x"], "y": box["y"], "width": WIDTH, "height": HEIGHT}
            picture = self._notebook.page.screenshot(clip=clip, type="png")
            self._frames.append(Image.open(io.BytesIO(picture)).convert("RGB"))
            self._times.append(now)
            time.sleep(max(0.0, FRAME_S - (time.monotonic() - now)))

    def save(self, path: Path) -> None:
        """Write it; frames that show nothing new lengthen the one before."""
        frames, shown = [self._frames[0]], [self._times[0]]
        for frame, at in zip(self._frames, self._times, strict=True):
            if frame.tobytes() != frames[-1].tobytes():
                frames.append(frame)
                shown.append(at)
        lengths = [round(1000 * (b - a)) for a, b in pairwise(shown)]
        frames[0].save(
            path,
            save_all=True,
            append_images=frames[1:],
            duration=[*lengths, LAST_MS],
            loop=0,
            quality=70,
            method=4,
        )


def main() -> None:
    """Film one run."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server("lab", Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium())
        try:
            written([RUN], server.root / "film" / "film.ipynb")
            page = browser.new_page(viewport={"width": 1400, "height": 1100})
            page.set_default_timeout(60_000)
            notebook = Notebook(page, server, "film/film.ipynb")
            notebook.run_cell(0)
            notebook.start_cell(1)
            window = notebook.window(1)
            window.root.wait_for()
            notebook.cell(1).evaluate("cell => cell.scrollIntoView({block: 'start'})")
            film = Film(notebook, window.root)
            window.step("fetch").wait_for()
            film.roll(4.8)
            form = window.root.get_by_role("form", name="Decide review")
            film.roll(0.5, form.get_by_label("yes").check)
            film.roll(1.0, form.get_by_role("button", name="Accept").click)
            (notebook.folder / "lower").touch()
            film.roll(1.6, window.root.get_by_role("button", name="Rerun …").first.click)
            film.roll(2.8, window.root.get_by_role("button", name="Start").click)
            window.expect_status("completed")
            window.slider.focus()
            film.roll(0.5, lambda: window.slider.press("Home"))
            for event in range(int(window.slider.get_attribute("max") or 0)):
                window.slider.press("ArrowRight")
                film.roll(0.1 * (event % 2))
            film.save(FILM)
            notebook.close()
        finally:
            browser.close()
            server.close()
    print(f"{FILM.relative_to(ROOT)}: {FILM.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
