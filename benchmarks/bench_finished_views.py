"""Views of finished runs in a real browser: how soon they are there, how smooth a replay is, and what saving nine costs.

In JupyterLab in Chromium: from the run of a cell to the first box of the view it shows; the replay of 1,000 steps, dragged;
a notebook with nine views of 60 steps, saved and loaded again.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench_live_view import opened, quantile
from figures import Promise, verdict
from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import MENDING, chromium
from tests.browser.jupyter_servers import Server
from tests.browser.notebook_page import Notebook

FINISHED = """
import pixirnb
def same():
    return 1
def finished(count):
    steps = [{"id": f"s{i}", "call": same, "posture": "read_only"} for i in range(count)]
    for i in range(10, count):
        steps[i]["depends_on"] = [f"s{i - 10}"]
    run = pixirnb.start({"name": f"done-{count}", "max_concurrency": 50, "steps": steps})
    run.wait()
    return run
"""
FIRST_BOX = """async (source) => {
  const panel = [...window.jupyterapp.shell.widgets('main')].find((w) => w.content?.widgets);
  const output = () => panel.content.activeCell.outputArea.node;
  const began = performance.now();
  window.jupyterapp.commands.execute("notebook:run-cell");
  while (!output().querySelector(".pixirnb-window .pixirnb-step")) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
FRAMES = """async (ms) => {
  const spans = [];
  let last = await new Promise(requestAnimationFrame);
  const end = last + ms;
  while (last < end) {
    const now = await new Promise(requestAnimationFrame);
    spans.push(now - last);
    last = now;
  }
  window.spans = spans;
}"""
LOADED = """async (wanted) => {
  while (document.querySelectorAll(wanted).length < 9) await new Promise(requestAnimationFrame);
  return performance.now();  // counted from the navigation
}"""
DRAG_MS = 4_000
VIEWS = 9


def first_box(notebook: Notebook, source: str) -> float:
    """Return milliseconds from the run of a cell to the first box of the view that it shows."""
    notebook.add_cell(source)
    span: float = notebook.page.evaluate(FIRST_BOX)
    notebook.wait_idle()
    return span


def dragged(notebook: Notebook) -> list[float]:
    """Return the milliseconds between frames while the replay of the last view is dragged."""
    page = notebook.page
    slider = page.get_by_role("slider").last
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 4, y)
    page.mouse.down()
    page.evaluate(f"() => {{ ({FRAMES})({DRAG_MS}); }}")
    turn = 0
    while not page.evaluate("() => window.spans !== undefined"):
        turn = (turn + 3) % 200
        page.mouse.move(box["x"] + box["width"] * abs(turn - 100) / 100, y)
    page.mouse.up()
    spans: list[float] = page.evaluate("() => window.spans")
    return spans


def reloaded(notebook: Notebook, wanted: str) -> float:
    """Return seconds that a saved page takes from its load to the ninth element of a selector."""
    notebook.save()
    notebook.page.reload()
    span: float = notebook.page.evaluate(LOADED, wanted)
    return span / 1000


def measured(browser: Browser, server: Server) -> bool:
    """Print the figures; return whether all were reached."""
    notebook = opened(
        browser, server, "finished", [FINISHED, "first, small = finished(23), finished(23)"]
    )
    notebook.run_new("large = finished(1000)")
    print(f"first view of a kernel: {first_box(notebook, 'first'):.0f} ms to its first box")
    kept = verdict("  23 steps, later", first_box(notebook, "small"), Promise(300, "ms"))
    kept &= verdict("  1,000 steps", first_box(notebook, "large"), Promise(1_500, "ms"))
    spans = dragged(notebook)
    print(
        f"replay of 1,000 steps, dragged: frame p50 {quantile(sorted(spans), 0.5):.1f} ms, longest {max(spans):.0f} ms"
    )
    kept &= verdict("  frame p95", quantile(sorted(spans), 0.95), Promise(33, "ms"))
    notebook.close()
    notebook = opened(browser, server, "plain", ["print(1)"] * VIEWS)
    print(f"nine printed lines, loaded again: {reloaded(notebook, '.jp-OutputArea-output'):.2f} s")
    notebook.close()
    notebook = opened(browser, server, "saved", [FINISHED, *["finished(60)"] * VIEWS])
    print(
        f"nine live views of 60 steps: {reloaded(notebook, '.pixirnb-window:has(.pixirnb-step)'):.2f} s"
    )
    pictures = reloaded(notebook, "img.pixirnb-picture")
    kept &= verdict("nine saved runs of 60 steps, loaded again", pictures, Promise(3, "s"))
    kept &= verdict("  the notebook", notebook.file.stat().st_size / 1000, Promise(400, "kB"))
    notebook.close()
    return kept


def main() -> int:
    """Print the figures; return 1 with `--strict` where one is missed."""
    found = chromium()
    if found is None:
        print(MENDING, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server("lab", Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            kept = measured(browser, server)
        finally:
            browser.close()
            server.close()
    return 0 if kept or "--strict" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
