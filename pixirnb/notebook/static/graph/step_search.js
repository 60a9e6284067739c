// Find a step: by a part of its id, where what matches stands out, the first is shown, and Enter goes on to the next; or as the next box in a direction.

import { h, setText } from "../dom/elements.js";

/** Steps whose id contains `words`, whatever its case, in order; null where nothing is searched for. */
export function matchingSteps(ids, words) {
  const wanted = words.trim().toLowerCase();
  return wanted ? [...ids.keys()].filter((step) => ids[step].toLowerCase().includes(wanted)) : null;
}

/** The nearest box from `here` in a direction, of `[x, y]` by step; undefined where there is none. */
export function nearestBox(positions, here, right, down) {
  const [x, y] = positions.get(here);
  let best;
  let least = Infinity;
  for (const [step, [u, v]] of positions) {
    const [ahead, aside] = right ? [(u - x) * right, Math.abs(v - y)] : [(v - y) * down, Math.abs(u - x)];
    const distance = ahead + aside * (right ? 2 : 8);
    if (ahead > 0 && distance < least) [best, least] = [step, distance];
  }
  return best;
}

export class StepSearch {
  constructor(view) {
    this.view = view;
    this.hits = [];
    this.at = 0;
    this.field = h("input", {
      type: "search",
      class: "pixirnb-field pixirnb-find",
      placeholder: "Find a step",
      "aria-label": "Find a step",
      spellcheck: "false",
      autocomplete: "off",
      on: { input: () => this.search(), keydown: (event) => this.onKey(event) },
    });
    this.words = h("span", { class: "pixirnb-mute pixirnb-nowrap", role: "status", "aria-live": "polite" });
    this.root = h("span", { class: "pixirnb-finder", role: "search" }, this.words, this.field);
  }

  search() {
    this.hits = this.view.graph.search(this.field.value);
    this.at = 0;
    if (this.hits.length) this.view.graph.reveal(this.hits[0], { close: true });
    this.showCount();
  }

  /** The next hit, or with -1 the one before. */
  goTo(direction) {
    if (!this.hits.length) return;
    this.at = (this.at + direction + this.hits.length) % this.hits.length;
    this.view.graph.reveal(this.hits[this.at], { close: true });
    this.showCount();
  }

  showCount() {
    const count = (number) => number.toLocaleString("en-US");
    if (!this.field.value.trim()) setText(this.words, "");
    else setText(this.words, this.hits.length ? `${count(this.at + 1)} of ${count(this.hits.length)}` : "none");
  }

  onKey(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.goTo(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.field.value = "";
      this.search();
    }
  }
}
