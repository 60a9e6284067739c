// Find a step: by a part of its title or id, where what matches stands out and Enter goes from one to the next; or as the next box in a direction.

import { h, setText } from "../dom/elements.js";
import { labelOf } from "../state/step_names.js";

/** Steps whose title or id contains `words`, whatever its case, in order; null where nothing is searched for. */
export function matchingSteps(scene, words) {
  const wanted = words.trim().toLowerCase();
  return wanted ? [...scene.ids.keys()].filter((step) => labelOf(scene, step).toLowerCase().includes(wanted)) : null;
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
    this.at = -1;
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
    this.at = -1;
    this.showCount();
  }

  /** The next hit, or with -1 the one before. */
  goTo(direction) {
    if (!this.hits.length) return;
    this.at = this.at < 0 ? (direction > 0 ? 0 : this.hits.length - 1) : (this.at + direction + this.hits.length) % this.hits.length;
    this.view.graph.reveal(this.hits[this.at], { close: true });
    this.showCount();
  }

  showCount() {
    const all = this.hits.length.toLocaleString("en-US");
    if (!this.field.value.trim()) setText(this.words, "");
    else if (!this.hits.length) setText(this.words, "none");
    else setText(this.words, this.at < 0 ? `${all} found` : `${this.at + 1} of ${all}`);
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
