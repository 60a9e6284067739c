// The time axis of the timeline: told milliseconds to pixels, a gap between courses, and lines at round times.

const GAP = 30; // px between two courses
const AXIS_ROW = 22;
const TICK_ROOM = 84;
const ROUND_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * 1000),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * 60_000),
  ...[1, 2, 4, 6, 12, 24, 48, 96, 168].map((hours) => hours * 3_600_000),
];

/** Set a style where it differs: to set an equal one, or to read one back, makes the browser reckon the page anew. */
function put(element, property, value) {
  element.styles ??= {};
  if (element.styles[property] === value) return;
  element.styles[property] = value;
  element.style.setProperty(property, value);
}

class Axis {
  constructor(root, lines) {
    this.root = root; // above the rows
    this.lines = lines; // behind them
    this.scale = 1; // px a told millisecond
  }

  /** Take the courses and how far the picture reaches, in told milliseconds. */
  take(courses, span) {
    this.courses = courses;
    this.span = Math.max(1, span);
  }

  get height() {
    return this.courses.list.length > 1 ? 2 * AXIS_ROW : AXIS_ROW + 4;
  }

  get width() {
    return this.span * this.scale + GAP * Math.max(0, this.courses.list.length - 1);
  }

  /** The scale at which everything is seen in `room` pixels. */
  fitting(room) {
    return Math.max(40, room - GAP * Math.max(0, this.courses.list.length - 1)) / this.span;
  }

  /** Where a moment is drawn; one in a pause at its beginning. */
  x(at) {
    return this.courses.told(at) * this.scale + GAP * this.courses.of(at);
  }

  /** Lines and words for what lies between two pixels. */
  draw(left, right) {
    const step = ROUND_MS.find((each) => each * this.scale >= TICK_ROOM) ?? ROUND_MS[ROUND_MS.length - 1];
    const drawn = `${this.scale}|${step}|${Math.floor(left / 200)}|${Math.ceil(right / 200)}|${this.span}|${this.courses.list.length}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const words = [];
    const lines = [];
    const { list } = this.courses;
    list.forEach((course, number) => {
      const from = course.told * this.scale + GAP * number;
      const span = number + 1 < list.length ? course.to - course.from : Math.max(1, this.span - course.told);
      const [first, last] = [Math.max(0, Math.floor((left - 200 - from) / this.scale / step)), Math.min(Math.floor(span / step), Math.ceil((right + 200 - from) / this.scale / step))];
      for (let n = first; n <= last; n += 1) {
        const x = from + n * step * this.scale;
        lines.push(this.at(h("i", { class: "pixirnb-tick" }), x));
        // The last word of a course must not run into the next one's first.
        if (number + 1 === list.length || n * step * this.scale + 40 < span * this.scale || n === 0) {
          words.push(this.at(h("span", { class: "pixirnb-tick-word", style: `top:${this.height - AXIS_ROW}px` }, n ? spanOf(n * step) : "0"), x));
        }
      }
      if (!number) return;
      lines.push(this.at(h("i", { class: "pixirnb-gap", style: `width:${GAP}px` }), from - GAP));
      const pause = this.courses.pauseBefore(number);
      words.push(this.at(h("span", { class: "pixirnb-resumed" }, `resumed ${spanOf(pause)} later`), from - GAP / 2));
    });
    fill(this.root, words);
    fill(this.lines, lines);
  }

  at(element, x) {
    element.style.left = `${x.toFixed(1)}px`;
    return element;
  }
}
