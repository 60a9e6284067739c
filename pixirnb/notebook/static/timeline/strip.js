// The strip below the graph: the run over time, thin, and the slider over it. A hand moves along time; keys go from event to event, as a
// screen reader does: beneath the picture is a range of the page, over the positions.

import { h, icon, setStyle } from "../dom/elements.js";
import { formatDuration } from "../dom/formatting.js";
import { labelOf } from "../state/step_names.js";
import { historyIndexOf } from "./history_index.js";
import { barsOf, packLanes } from "./lanes.js";
import { paintStrip } from "./strip_painter.js";
import { TimeScale } from "./time_scale.js";

const PIN_WIDTH = 15; // px between two pins
const PIN_SYMBOLS = { course: "▸", flag: "⚑", phase: "|" };
const INSET = 7; // px before the first moment and after the last
const BARS_HEIGHT = 20;
const PAUSE_GAP = 18; // px between two courses: a failure at the end of one and the resume after it are two pins
const MIN_BAR = 2;

export class Strip {
  constructor(store, replay) {
    this.store = store;
    this.replay = replay;
    this.scale = new TimeScale(PAUSE_GAP);
    this.pins = new Map(); // bookmark -> element
    this.room = 0;
    this.isHeld = false;
    this.slider = h("input", {
      type: "range",
      class: "pixirnb-slider",
      min: 0,
      step: 1,
      "aria-label": "Replay position in events",
      on: { input: () => replay.seek(Number(this.slider.value)), keydown: (event) => replay.onKey(event) },
    });
    this.canvas = h("canvas", { class: "pixirnb-strip", "aria-hidden": "true" });
    this.later = h("div", { class: "pixirnb-strip-later", "aria-hidden": "true" });
    this.cursor = h("div", { class: "pixirnb-strip-cursor", "aria-hidden": "true" });
    this.bookmarks = h("div", { class: "pixirnb-bookmarks", role: "group", "aria-label": "Bookmarks" });
    this.root = h(
      "div",
      {
        class: "pixirnb-track",
        on: {
          pointerdown: (event) => this.hold(event),
          pointermove: (event) => (this.isHeld ? this.point(event.clientX) : this.hint(event.clientX)),
          pointerup: () => this.release(),
          pointercancel: () => this.release(),
        },
      },
      this.slider,
      this.canvas,
      this.later,
      this.bookmarks,
      this.cursor,
    );
    this.resizeObserver = new ResizeObserver(([{ contentRect }]) => {
      this.room = contentRect.width;
      this.draw({ has: () => true });
    });
    this.resizeObserver.observe(this.root);
  }

  // --- what is where ---

  /** Take the scale: all of the run in the room there is. Under a hand it stays as it is, else the strip would slip from it. */
  measure() {
    const { store, scale } = this;
    this.historyIndex = historyIndexOf(store.currentPlan); // all there is to go to, whatever plan version is shown
    if (this.isHeld) return;
    scale.update(this.historyIndex.courses, this.historyIndex.reach(store));
    scale.scale = scale.fitting(this.room - 2 * INSET);
  }

  x(at) {
    return INSET + this.scale.x(at);
  }

  // --- drawing ---

  draw({ has }) {
    if (!this.room) return;
    this.measure();
    if (has("reset", "clock")) this.readTheme();
    this.drawSlider();
    this.drawBars();
    this.drawPins();
    const x = this.x(this.store.moment);
    setStyle(this.cursor, "transform", `translateX(${x.toFixed(1)}px)`);
    setStyle(this.later, "left", `${x.toFixed(1)}px`);
    this.later.hidden = !this.store.isPast;
  }

  drawSlider() {
    const { slider, store } = this;
    if (Number(slider.max) !== store.history.length) slider.max = store.history.length;
    if (Number(slider.value) !== store.at) slider.value = store.at;
  }

  /** The picture is painted where something came to it: what is shown of the past moves a line over it. */
  drawBars() {
    const { store, scale, room } = this;
    const { history } = this.historyIndex;
    const now = store.latest;
    const drawn = `${room}|${scale.scale}|${history.length}|${store.isLive}|${this.theme}|${Math.round(scale.scale * now)}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    if (this.packed !== `${history.length}|${store.isLive}`) {
      this.packed = `${history.length}|${store.isLive}`;
      this.bars = barsOf(store);
      this.lanes = packLanes(this.bars);
    }
    const bars = this.bars.map(({ from, to, ...bar }) => {
      const x = this.x(from);
      return { ...bar, x, width: Math.max(MIN_BAR, this.x(to ?? Math.max(from, now)) - x), isOpen: to === null };
    });
    const gaps = this.historyIndex.courses.list.slice(1).map((_, number) => [INSET + scale.start(number + 1) - PAUSE_GAP, PAUSE_GAP]);
    paintStrip(this.canvas, { width: room, height: BARS_HEIGHT, bars, lanes: this.lanes, gaps, colorOf: (tone) => this.style.getPropertyValue(`--px-${tone}`).trim() || "#777" });
  }

  /** A canvas does not follow the colours of its page: they are looked at now and then. */
  readTheme() {
    this.style ??= getComputedStyle(this.root);
    this.theme = ["ready", "bg"].map((tone) => this.style.getPropertyValue(`--px-${tone}`)).join() + window.devicePixelRatio;
  }

  drawPins() {
    const { historyIndex } = this;
    const { history } = historyIndex;
    const place = (position) => this.x(history.timeAt(position));
    const drawn = `${history.length}|${this.scale.scale}`;
    if (history === this.pinned && drawn === this.pinsDrawn) return;
    [this.pinned, this.pinsDrawn] = [history, drawn];
    const before = this.pins;
    this.pins = new Map();
    for (const { shown, count } of historyIndex.bookmarks.thinned(PIN_WIDTH, place)) {
      // One that is only moved stays the element it was: a click may be under way on it.
      let element = before.get(shown);
      if (element?.count !== count) element = this.pin(shown, count);
      element.count = count;
      setStyle(element, "left", `${place(shown.position).toFixed(1)}px`);
      this.pins.set(shown, element);
      if (before.get(shown) !== element) this.bookmarks.append(element);
    }
    const kept = new Set(this.pins.values());
    for (const element of [...this.bookmarks.children]) if (!kept.has(element)) element.remove();
  }

  pin({ position, type, step, words, mark }, count) {
    const name = step >= 0 && type !== "phase" ? `${labelOf(this.store.currentPlan.scene, step)}: ${words}` : words;
    const more = count > 1 ? `, and ${count - 1} more nearby` : "";
    const label = `Event ${position}: ${name}${more}`;
    return h(
      "button",
      { type: "button", tabindex: "-1", class: `pixirnb-bookmark pixirnb-bookmark-${type}${mark ? ` pixirnb-${mark.tone}` : ""}`, title: label, "aria-label": label, on: { click: () => this.replay.seek(position) } },
      mark ? icon(mark, 12) : PIN_SYMBOLS[type],
    );
  }

  // --- hands ---

  hold(event) {
    if (event.button || event.target.closest(".pixirnb-bookmark")) return;
    event.preventDefault();
    this.isHeld = true;
    this.root.setPointerCapture(event.pointerId);
    this.slider.focus({ preventScroll: true });
    this.point(event.clientX);
  }

  point(clientX) {
    const x = clientX - this.root.getBoundingClientRect().left - INSET;
    if (x > 0) this.replay.seekTime(this.scale.time(x));
    else this.replay.seek(0);
  }

  /** The time beneath a pointer that only rests. */
  hint(clientX) {
    if (!this.historyIndex) return;
    const at = this.scale.time(clientX - this.root.getBoundingClientRect().left - INSET);
    this.root.title = formatDuration(this.historyIndex.courses.activeAt(at));
  }

  release() {
    this.isHeld = false;
    this.store.notify("moment");
  }
}
