// The time axis of the timeline: the scale, and lines and words at round times.

import { h, setChildren } from "../dom/elements.js";
import { formatDuration } from "../dom/formatting.js";
import { textWidth } from "../graph/text_fit.js";
import { TimeScale } from "./time_scale.js";

const PAUSE_WIDTH = 30; // px between two courses
const AXIS_LINE_HEIGHT = 22;
const MIN_TICK_WIDTH = 84;
const TICK_STEPS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * 1000),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * 60_000),
  ...[1, 2, 4, 6, 12, 24, 48, 96, 168].map((hours) => hours * 3_600_000),
];

export class Axis extends TimeScale {
  constructor(root, lines) {
    super(PAUSE_WIDTH);
    this.root = root; // above the rows
    this.lines = lines; // behind them
  }

  get height() {
    return this.courses.list.length > 1 ? 2 * AXIS_LINE_HEIGHT : AXIS_LINE_HEIGHT + 4;
  }

  /** Milliseconds between two ticks: the shortest round time that leaves room for a word. */
  get step() {
    return TICK_STEPS_MS.find((each) => each * this.scale >= MIN_TICK_WIDTH) ?? TICK_STEPS_MS.at(-1);
  }

  /** The ticks of a course between two pixels: `[x, word]`, without the word where it would run into the next course's first. */
  ticks(number, left, right) {
    const { scale, step, span } = this;
    const { list } = this.courses;
    const [course, isLast] = [list[number], number + 1 === list.length];
    const from = this.start(number);
    const length = isLast ? Math.max(1, span - course.activeBefore) : course.to - course.from;
    const last = Math.min(Math.floor(length / step), Math.ceil((right + 200 - from) / scale / step));
    const ticks = [];
    for (let n = Math.max(0, Math.floor((left - 200 - from) / scale / step)); n <= last; n += 1) {
      const hasRoom = isLast || n === 0 || n * step * scale + 40 < length * scale;
      ticks.push([from + n * step * scale, hasRoom ? (n ? formatDuration(n * step) : "0") : ""]);
    }
    return ticks;
  }

  /** Lines and words for what lies between two pixels. */
  draw(left, right) {
    const { step } = this;
    const drawn = `${this.scale}|${step}|${Math.floor(left / 200)}|${Math.ceil(right / 200)}|${this.span}|${this.courses.list.length}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const words = [];
    const lines = [];
    let free = -Infinity; // px from which a pause can be named
    for (const number of this.courses.list.keys()) {
      for (const [x, word] of this.ticks(number, left, right)) {
        lines.push(this.placeAt(h("i", { class: "pixirnb-tick" }), x));
        if (word) words.push(this.placeAt(h("span", { class: "pixirnb-tick-word", style: `top:${this.height - AXIS_LINE_HEIGHT}px` }, word), x));
      }
      if (!number) continue;
      const from = this.start(number);
      lines.push(this.placeAt(h("i", { class: "pixirnb-gap", style: `width:${PAUSE_WIDTH}px` }), from - PAUSE_WIDTH));
      const word = `resumed ${formatDuration(this.courses.pauseBefore(number))} later`;
      const [middle, half] = [from - PAUSE_WIDTH / 2, textWidth(word, 12) / 2 + 8];
      if (middle - half < free) continue; // the name before is in its place
      free = middle + half;
      words.push(this.placeAt(h("span", { class: "pixirnb-resumed" }, word), middle));
    }
    setChildren(this.root, words);
    setChildren(this.lines, lines);
  }

  placeAt(element, x) {
    element.style.left = `${x.toFixed(1)}px`;
    return element;
  }
}
