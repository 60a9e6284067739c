"""The live view in a real browser: how soon a page shows what is on disk, and what saved views cost.

In JupyterLab in Chromium: steps that end one after another, each from its event in the log to its mark in the picture;
views of finished runs, from the run of their cell to their first box; the replay of 1,000 steps, dragged; and a notebook
with nine views of 60 steps, saved and loaded again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from figures import Promise, verdict

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.browser.chromium import MENDING, chromium  # noqa: E402 - the browser of the tests is this one's too
from tests.browser.jupyter_servers import Server  # noqa: E402
from tests.browser.notebook_page import Notebook, written  # noqa: E402

STEPS = 40
ENDS = f"""
import json, pixirnb
steps = [{{"id": f"s{{i}}", "run": "sleep 0.2", "posture": "read_only"}} for i in range({STEPS})]
run = pixirnb.start({{"name": "ends", "max_concurrency": 1, "steps": steps}})
"""
TOLD = (
    "run.wait()\n"
    "ended = [e for e in run.history() if e.kind == 'verification_recorded']\n"
    "open('ended.json', 'w').write(json.dumps({e.data['step']: e.at for e in ended}))"
)
FINISHED = """
import pixirnb
def same():
    return 1
def finished(count):
    steps = [{"id": f"s{i}", "call": ":same", "posture": "read_only"} for i in range(count)]
    for i in range(10, count):
        steps[i]["depends_on"] = [f"s{i - 10}"]
    run = pixirnb.start({"name": f"done-{count}", "max_concurrency": 50, "steps": steps}, functions={"same": same})
    run.wait()
    return run
first, small, large = finished(23), finished(23), finished(1000)
sixty = [finished(60) for _ in range(9)]
"""
MARKED = """() => {
  window.ready = {};
  const note = () => {
    for (const each of document.querySelectorAll(".pixirnb-step[aria-label]")) {
      const [step, words] = each.getAttribute("aria-label").split(": ");
      if (words?.startsWith("ready")) window.ready[step] ??= Date.now();
    }
  };
  const what = { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-label"] };
  new MutationObserver(note).observe(document.body, what);
}"""
FIRST_BOX = """async () => {
  const views = () => [...document.querySelectorAll(".pixirnb-window:has(.pixirnb-step)")];
  const before = new Set(views());
  const began = performance.now();
  window.jupyterapp.commands.execute("notebook:run-cell");
  while (views().every((view) => before.has(view))) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
FRAMES = """async (ms) => {
  const spans = [];
  let last = performance.now();
  const end = last + ms;
  while (last < end) {
    const now = await new Promise(requestAnimationFrame);
    spans.push(now - last);
    last = now;
  }
  window.spans = spans.slice(1);
}"""
DRAG_MS = 4_000


def quantile(spans: list[float], share: float) -> float:
    """Return a quantile of spans."""
    return sorted(spans)[min(len(spans) - 1, int(len(spans) * share))]


def opened(browser: Browser, server: Server, name: str, cells: list[str]) -> Notebook:
    """Open a notebook of its own, and run its cells."""
    page = browser.new_page(viewport={"width": 1500, "height": 1000})
    path = f"{name}/steps.ipynb"
    written(cells, server.root / path)
    notebook = Notebook(page, server, path)
    notebook.run_all()
    return notebook


def delays(browser: Browser, server: Server) -> list[float]:
    """Return milliseconds from each step's end in the log to its mark in the picture."""
    notebook = opened(browser, server, "ends", [])
    notebook.page.evaluate(MARKED)
    notebook.run_new(f"{ENDS}\nrun")
    notebook.run_new(TOLD)
    notebook.page.wait_for_function(f"() => Object.keys(window.ready).length === {STEPS}")
    seen: dict[str, float] = notebook.page.evaluate("() => window.ready")
    ended: dict[str, str] = json.loads((notebook.folder / "ended.json").read_text())
    notebook.close()
    at = {step: datetime.fromisoformat(moment).timestamp() * 1000 for step, moment in ended.items()}
    return [seen[step] - at[step] for step in at]


def first_box(notebook: Notebook, source: str) -> float:
    """Return milliseconds from the run of a cell to the first box of the view that it shows."""
    notebook.add_cell(source)
    span: float = notebook.page.evaluate(FIRST_BOX)
    notebook.wait_idle()
    return span


def dragged(notebook: Notebook) -> list[float]:
    """Return the spans between frames while the replay of the last view is dragged."""
    page = notebook.page
    slider = page.get_by_role("slider").last
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 4, y)
    page.mouse.down()
    page.evaluate(f"() => {{ ({FRAMES})({DRAG_MS}).then(() => {{ window.isOver = true; }}); }}")
    turn = 0
    while not page.evaluate("() => window.isOver === true"):
        turn = (turn + 3) % 200
        page.mouse.move(box["x"] + box["width"] * abs(turn - 100) / 100, y)
    page.mouse.up()
    spans: list[float] = page.evaluate("() => window.spans")
    return spans


def reloaded(notebook: Notebook) -> float:
    """Return seconds that a page with nine views takes from its load to the last view's first box."""
    page = notebook.page
    notebook.save()
    page.reload()
    page.evaluate(
        """async () => {
          const views = () => document.querySelectorAll(".pixirnb-window:has(.pixirnb-step)").length;
          while (views() < 9) await new Promise(requestAnimationFrame);
        }"""
    )
    span: float = page.evaluate("() => performance.now()")  # counted from the navigation
    return span / 1000


def main() -> int:
    """Print the figures; 1 with `--strict` where one is missed."""
    found = chromium()
    if found is None:
        print(MENDING, file=sys.stderr)
        return 1
    kept = True
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server("lab", Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            spans = delays(browser, server)
            print(f"step end on disk to picture: p50 {quantile(spans, 0.5):.0f} ms")
            kept &= verdict("  p95", quantile(spans, 0.95), Promise(120, "ms"))
            notebook = opened(browser, server, "finished", [FINISHED])
            print(f"first view of a kernel: {first_box(notebook, 'first'):.0f} ms to its first box")
            kept &= verdict("  23 steps, later", first_box(notebook, "small"), Promise(300, "ms"))
            kept &= verdict("  1,000 steps", first_box(notebook, "large"), Promise(1500, "ms"))
            spans = dragged(notebook)
            print(
                f"replay of 1,000 steps, dragged: frame p50 {quantile(spans, 0.5):.1f} ms, longest {max(spans):.0f} ms"
            )
            kept &= verdict("  frame p95", quantile(spans, 0.95), Promise(33, "ms"))
            notebook.close()
            views = [FINISHED, *(f"sixty[{each}]" for each in range(9))]
            notebook = opened(browser, server, "saved", views)
            kept &= verdict(
                "nine saved runs of 60 steps, loaded again", reloaded(notebook), Promise(3, "s")
            )
            size = notebook.file.stat().st_size / 1000
            kept &= verdict("  the notebook", size, Promise(400, "kB"))
            notebook.close()
        finally:
            browser.close()
            server.close()
    return 0 if kept or "--strict" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
