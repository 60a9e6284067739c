"""A run's live view in a page, found as a person or a screen reader finds it: by what each part is and what it is called."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

_CONTRASTS = """
root => {
  const channels = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const blend = (over, under) => {
    const alpha = over[3] ?? 1;
    return [0, 1, 2].map(i => over[i] * alpha + under[i] * (1 - alpha));
  };
  const paintOf = element => {
    const box = element.closest('g')?.querySelector(':scope > rect.pixirnb-box, :scope > rect.pixirnb-band');
    if (element instanceof SVGElement && box) return channels(getComputedStyle(box).fill);
    return channels(getComputedStyle(element).backgroundColor);
  };
  const ground = element => {
    const paints = [];
    for (let each = element; each; each = each.parentElement) {
      const paint = paintOf(each);
      paints.push(paint);
      if ((paint[3] ?? 1) === 1 && paint.length >= 3) break;
    }
    return paints.reverse().reduce((under, paint) => paint.length >= 3 ? blend(paint, under) : under, [255, 255, 255]);
  };
  const found = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const words = texts.currentNode.textContent.trim();
    if (!words || element.closest('title, style') || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const ink = blend(channels(element instanceof SVGElement ? style.fill : style.color), under);
    const [light, dark] = [luminance(ink), luminance(under)].sort((a, b) => b - a);
    found.push([words, Math.round((light + 0.05) / (dark + 0.05) * 10) / 10, Math.round(luminance(under) * 100) / 100]);
  }
  return found;
}
"""


class RunWindow:
    """One view of a run within `place`: an output, or whatever shows one."""

    def __init__(self, place: Locator) -> None:
        self.root = place.get_by_role("region", name=re.compile(r"^Run r-"))
        self.status = self.root.locator(".pixirnb-status").first
        self.graph = self.root.get_by_role("group", name=re.compile(r"^Steps of "))
        self.slider = self.root.get_by_role("slider")

    def step(self, step: str, word: str = "") -> Locator:
        """A step in the graph; with `word`, only where that is how it stands."""
        return self.graph.get_by_role("button", name=re.compile(rf"^{re.escape(step)}: {word}"))

    def find(self, words: str) -> None:
        """Search for a step: the first that matches comes into the frame."""
        self.root.get_by_role("searchbox", name="Find a step").fill(words)

    def button(self, name: str) -> Locator:
        """One of the run's buttons."""
        return self.root.get_by_role("button", name=name, exact=True)

    def panel(self, step: str) -> Locator:
        """The panel of a step, which is chosen for it."""
        self.step(step).click()
        panel = self.root.get_by_label(f"Step {step}", exact=True)
        expect(panel).to_be_visible()
        return panel

    def expect_steps(self, **words: str) -> None:
        """Wait until each step stands so."""
        for step, word in words.items():
            expect(self.step(step, word)).to_be_visible()

    def expect_status(self, word: str) -> None:
        """Wait until the run stands so."""
        expect(self.status).to_have_text(word)

    def contrasts(self) -> list[tuple[str, float, float]]:
        """Each text that shows: its words, their contrast with what is behind them, and the luminance of that, 0 to 1."""
        told: list[Any] = self.root.evaluate(_CONTRASTS)
        return [(str(words), float(ratio), float(ground)) for words, ratio, ground in told]
