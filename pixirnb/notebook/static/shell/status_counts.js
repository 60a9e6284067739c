// How many steps have each status: a bar in proportion, and a chip each, which highlights its steps. Counted as the steps change.

import { h, icon, setText } from "../dom/elements.js";

export class StatusCounts {
  /** `onPick` gets the key of the mark whose steps are to be highlighted, or null. */
  constructor(store, onPick) {
    this.store = store;
    this.onPick = onPick;
    this.pressed = store.pressed ?? null; // a redrawn output shows what the last one did
    this.counts = new Map(); // key of a mark -> [mark, count]
    this.keys = []; // step -> key of the mark it is counted under
    this.shown = new Map(); // key -> {chip, words, part}
    this.bar = h("div", { class: "pixirnb-bar", "aria-hidden": "true" });
    this.chips = h("div", { class: "pixirnb-chips", role: "group", "aria-label": "Steps by status" });
  }

  draw({ has, touched }) {
    if (has("reset") && this.pressed) this.onPick(this.pressed);
    if (has("reset", "jump", "head")) this.recount();
    else if (touched.size && (has("position") || !this.store.isPast)) for (const step of touched) this.count(step);
    else return;
    this.render();
  }

  recount() {
    // A status that no step has any more is still shown, and has to become 0.
    for (const entry of this.counts.values()) entry[1] = 0;
    this.keys = [];
    for (const step of this.store.scene.ids.keys()) this.count(step);
  }

  count(step) {
    const mark = this.store.markAt(step);
    const before = this.keys[step];
    if (before === mark.key) return;
    if (before !== undefined) this.counts.get(before)[1] -= 1;
    const entry = this.counts.get(mark.key) ?? [mark, 0];
    entry[1] += 1;
    this.counts.set(mark.key, entry);
    this.keys[step] = mark.key;
  }

  render() {
    for (const [key, [mark, count]] of this.counts) {
      const known = this.shown.get(key) ?? this.make(key, mark);
      if (known.count === count) continue;
      known.count = count;
      setText(known.number, count.toLocaleString("en-US"));
      known.part.style.flexGrow = count;
      known.chip.hidden = known.part.hidden = count === 0 && this.pressed !== key;
    }
  }

  make(key, mark) {
    const number = h("b", {});
    const chip = h(
      "button",
      {
        type: "button",
        class: `pixirnb-chip pixirnb-${mark.tone}`,
        title: "Highlight these steps",
        "aria-pressed": String(this.pressed === key),
        on: { click: () => this.select(this.pressed === key ? null : key) },
      },
      icon(mark),
      " ",
      number,
      ` ${mark.word}`,
    );
    const part = h("span", { class: `pixirnb-${mark.tone}` });
    const known = { chip, number, part, count: -1 };
    // In the order of the marks, wherever it comes in.
    const order = (each) => this.store.markOf[each] ?? 99;
    const next = [...this.shown.keys()].filter((each) => order(each) > order(key)).sort((a, b) => order(a) - order(b))[0];
    this.chips.insertBefore(chip, this.shown.get(next)?.chip ?? null);
    this.bar.insertBefore(part, this.shown.get(next)?.part ?? null);
    this.shown.set(key, known);
    return known;
  }

  select(key) {
    this.pressed = this.store.pressed = key;
    for (const [each, { chip, part, count }] of this.shown) {
      chip.setAttribute("aria-pressed", String(each === key));
      chip.hidden = part.hidden = count === 0;
    }
    this.onPick(key);
  }
}
