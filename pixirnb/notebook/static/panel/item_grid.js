// The items of a step: a small cell each, painted, and the first of them by name, for keys and readers. A cell or a name opens the panel
// of its item. The tape tells how each stands; the kernel is asked for their names once a list.

import { updateChildren } from "../dom/content.js";
import { button, h, icon, setChildren, setStyle, setText } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { OUTLINES } from "../graph/canvas_renderer.js";
import { idOf } from "../state/step_names.js";
import { foundItems, layOut, rankedItems } from "./item_order.js";

const NAMED = 40; // items that are listed by name
const MOST_PIXELS = 16_384; // of a side of a canvas: beyond, browsers paint nothing

export class ItemGrid {
  constructor(store) {
    this.store = store;
    this.step = -1;
    this.key = null; // of the mark whose items are shown; null: all
    this.names = new Map(); // number -> name
    this.colors = new Map(); // of the theme, by tone
    this.painted = []; // keys of the marks on the canvas, by cell
    this.isWorstFirst = true;
    this.title = h("h4", {}, "Items");
    this.words = h("span", { class: "pixirnb-mute", role: "status", "aria-live": "polite" });
    this.chips = h("span", { class: "pixirnb-chips", role: "group", "aria-label": "Items by status" });
    this.field = h("input", { type: "search", class: "pixirnb-field pixirnb-find", placeholder: "Find an item", "aria-label": "Find an item", spellcheck: "false", autocomplete: "off", on: { input: () => this.draw(), keydown: (event) => this.onKey(event) } });
    this.order = button("Worst first", () => this.switchOrder(), { kind: "pixirnb-slight", pressed: true, title: "Order by status, else as in the list" });
    this.canvas = h("canvas", { "aria-hidden": "true", on: { click: (event) => this.pick(event), pointermove: (event) => this.hint(event) } });
    this.frame = h("div", { class: "pixirnb-item-cells" }, this.canvas);
    this.list = h("ul", { class: "pixirnb-item-names", "aria-label": "Items by name" });
    this.root = h(
      "section",
      { class: "pixirnb-part pixirnb-items", role: "group", "aria-label": "Items", hidden: true },
      h("div", { class: "pixirnb-flex-row" }, this.title, this.words, h("span", { class: "pixirnb-right pixirnb-flex-row" }, this.order, this.field)),
      this.chips,
      this.frame,
      this.list,
    );
  }

  /** Show the items of another step; nothing of one that has none. */
  open(step) {
    this.step = this.store.plannedItems(step) ? step : -1;
    this.resizeObserver ??= new ResizeObserver(() => this.paint());
    this.resizeObserver.observe(this.frame);
    this.root.hidden = this.step < 0;
    [this.key, this.field.value, this.asked, this.shown, this.layout] = [null, "", null, null, null];
    this.names.clear();
    if (this.step >= 0) this.draw();
  }

  draw() {
    const { store, step } = this;
    if (step < 0) return;
    const places = store.itemsOf(step);
    this.frame.hidden = this.list.hidden = this.chips.hidden = this.order.hidden = this.field.hidden = !places;
    if (!places) {
      const [count, source] = store.plannedItems(step);
      setText(this.words, count === null ? `Their number is not known yet${source ? `: ${source} decides it` : ""}.` : `${pluralize(count, "item")}, none has begun.`);
      return;
    }
    this.fetchNames(places);
    this.counts = store.itemCounts(step);
    if (this.key && !this.counts.some(([{ key }]) => key === this.key)) this.key = null;
    const { items } = store.scene;
    const markOf = (place) => store.markAt(place);
    const found = foundItems(places, { key: this.key, words: this.field.value, markOf, nameOf: (place) => this.nameOf(place), numberOf: (place) => items.numberOf(place) });
    this.visible = this.isWorstFirst ? rankedItems(found, markOf, store.vocabulary.marks) : found;
    const isAll = found.length === places.length;
    setText(this.words, isAll ? pluralize(places.length, "item") : `${found.length.toLocaleString("en-US")} of ${pluralize(places.length, "item")}`);
    this.drawChips();
    this.paint();
    this.drawNames();
  }

  nameOf(place) {
    return this.names.get(this.store.scene.items.numberOf(place)) ?? "";
  }

  /** Once a list: names do not change. */
  async fetchNames(places) {
    const { store, step } = this;
    if (this.asked === places) return;
    this.asked = places;
    const at = store.isPast ? store.history.seqAt(store.at) : null;
    const message = await store.ask({ ask: "items", step: idOf(store.scene, step), at });
    if (this.asked !== places || !message.ok) return; // without names the numbers are shown
    for (const [number, name] of message.answer.items) this.names.set(number, name);
    this.draw();
  }

  drawChips() {
    const shown = `${this.key}|${this.counts.map(([{ key }, count]) => key + count)}`;
    if (shown === this.shown) return;
    this.shown = shown;
    const chip = ([mark, count]) => h(
      "button",
      { type: "button", class: `pixirnb-chip pixirnb-${mark.tone}`, title: "Show only these items", "aria-pressed": String(this.key === mark.key), "aria-label": `${count.toLocaleString("en-US")} ${mark.word}`, on: { click: () => this.filter(mark.key) } },
      icon(mark), " ", h("b", {}, count.toLocaleString("en-US")), ` ${mark.word}`,
    );
    updateChildren(this.chips, this.counts.map(chip));
  }

  filter(key) {
    this.key = this.key === key ? null : key;
    this.draw();
  }

  switchOrder() {
    this.isWorstFirst = !this.isWorstFirst;
    this.order.setAttribute("aria-pressed", String(this.isWorstFirst));
    this.draw();
  }

  /** The cells, as large as their number lets them be. A canvas of all: its height is bounded by the most items that a list has. */
  paint() {
    const width = this.frame.clientWidth;
    if (!width || !this.visible || this.step < 0 || this.frame.hidden) return;
    const { visible, store } = this;
    this.cells = layOut(visible.length, width);
    const { size, columns, height } = this.cells;
    const density = Math.min(window.devicePixelRatio || 1, MOST_PIXELS / Math.max(height, 1));
    const context = this.canvas.getContext("2d");
    const layout = [size, columns, height, width, density].join();
    if (layout !== this.layout || visible.length < this.painted.length) this.clear(layout, width, height, density);
    this.paths ??= Object.fromEntries(Object.entries(OUTLINES).map(([key, outline]) => [key, new Path2D(outline)]));
    const scale = ((size - 1) / 4) * density;
    // A cell that looks as before is not painted again: of thousands, few change at a time.
    visible.forEach((place, index) => {
      const mark = store.markAt(place);
      if (this.painted[index] === mark.key) return;
      this.painted[index] = mark.key;
      const [x, y] = [(index % columns) * size, Math.floor(index / columns) * size];
      context.setTransform(scale, 0, 0, scale, x * density, y * density);
      context.clearRect(0, 0, 4, 4);
      context.fillStyle = this.colorOf(mark.tone);
      context.globalAlpha = mark.key === "queued" ? 0.25 : 1; // a field that is still empty
      if (mark.key === "checkpoint_ready" || mark.key === "queued") context.fillRect(0, 0, 4, 4);
      else context.fill(this.paths[mark.key] ?? (mark.tone === "idle" ? this.paths.idle : this.paths.partial), "evenodd");
    });
  }

  /** Begin with an empty canvas, and the colors of the theme as it is now. */
  clear(layout, width, height, density) {
    [this.layout, this.painted] = [layout, []];
    this.colors.clear();
    Object.assign(this.canvas, { width: Math.round(width * density), height: Math.round(height * density) });
    setStyle(this.canvas, "width", `${width}px`);
    setStyle(this.canvas, "height", `${height}px`);
  }

  colorOf(tone) {
    if (!this.colors.has(tone)) this.colors.set(tone, getComputedStyle(this.frame).getPropertyValue(`--px-${tone}`).trim() || "#777");
    return this.colors.get(tone);
  }

  /** The first by name: of thousands those that matter most. */
  drawNames() {
    const { store, visible } = this;
    const first = visible.slice(0, NAMED);
    const row = (place) => {
      const [mark, id, name] = [store.markAt(place), idOf(store.scene, place), this.nameOf(place)];
      const link = button([icon(mark), " ", name || id], () => store.choose(place), { kind: "pixirnb-slight", title: `${id}: ${mark.word}` });
      link.setAttribute("aria-label", `${name ? `${name} (${id})` : id}: ${mark.word}`);
      return h("li", {}, link);
    };
    const left = visible.length - first.length;
    const listed = `${first.map((place) => `${place}${store.markAt(place).key}${this.nameOf(place)}`)}|${left}`;
    if (listed === this.listed) return;
    this.listed = listed;
    if (!visible.length) setChildren(this.list, h("li", { class: "pixirnb-mute" }, "No item matches."));
    else updateChildren(this.list, first.map(row), left ? h("li", { class: "pixirnb-mute" }, `and ${left.toLocaleString("en-US")} more`) : null);
  }

  // --- hands ---

  itemAt({ offsetX, offsetY }) {
    const { size, columns } = this.cells ?? {};
    const column = Math.floor(offsetX / size);
    return column < columns ? this.visible?.[Math.floor(offsetY / size) * columns + column] : undefined;
  }

  pick(event) {
    const place = this.itemAt(event);
    if (place !== undefined) this.store.choose(place);
  }

  hint(event) {
    const place = this.itemAt(event);
    this.canvas.title = place === undefined ? "" : `${[this.nameOf(place), idOf(this.store.scene, place)].filter(Boolean).join(" · ")}: ${this.store.markAt(place).word}`;
  }

  onKey(event) {
    if (event.key === "Enter" && this.visible?.length) {
      event.preventDefault();
      this.store.choose(this.visible[0]);
    } else if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      event.stopPropagation();
      this.field.value = "";
      this.draw();
    }
  }

  dispose() {
    this.resizeObserver?.disconnect();
    this.step = -1;
  }
}
