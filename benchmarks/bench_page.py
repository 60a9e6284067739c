"""The live view in a real browser: how soon a page shows what is on disk.

In JupyterLab in Chromium: steps that end one after another, each from its event in the log to its mark in the picture.
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
for i in range(4, {STEPS}):
    steps[i]["depends_on"] = [f"s{{i - 4}}"]  # ten columns: all in sight, no stack
run = pixirnb.start({{"name": "ends", "max_concurrency": 1, "steps": steps}})
"""
TOLD = (
    "run.wait()\n"
    "ended = [e for e in run.history() if e.kind == 'attempt_ended']\n"
    "open('ended.json', 'w').write(json.dumps({e.data['step']: e.at for e in ended}))"
)
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
        finally:
            browser.close()
            server.close()
    return 0 if kept or "--strict" not in sys.argv else 1


if __name__ == "__main__":
    sys.exit(main())
