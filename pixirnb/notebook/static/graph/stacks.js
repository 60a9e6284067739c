// Stacks: each stands for the steps of a fan-out. What of it failed, asks, is chosen or was found is drawn below it; an open stack has
// all its steps in a block below it. Rows for them are put into the kernel's sheet here, so that a dead kernel's graph unfolds too.

import { s } from "../dom/elements.js";
import { truncateText } from "./text_fit.js";

const GAP = 14;
const MARGIN = 14;
const BLOCK_ROWS = 40;

export class Stacks {
  /** `base` is a sheet of the scene. Stacks and other boxes that stand for steps are numbered -1, -2, … */
  constructor(store, base, frame) {
    this.store = store;
    this.frame = frame;
    this.base = base;
    this.found = new Set();
    this.stackOf = new Map();
    this.numbers = [];
    base.more.forEach(([, , , steps, , isStack], index) => {
      if (!isStack) return;
      this.numbers.push(-1 - index);
      for (const step of steps) this.stackOf.set(step, -1 - index);
    });
    this.open = new Set(store.sheet ? this.numbers : []);
  }

  stepsOf(number) {
    return this.base.more[-1 - number][3];
  }

  toggle(number) {
    if (!this.open.delete(number)) this.open.add(number);
    for (const step of this.stepsOf(number)) this.found.delete(step);
  }

  /** The steps that are drawn below a stack. */
  shownOf(number) {
    const steps = this.stepsOf(number);
    if (this.open.has(number)) return steps;
    const loud = steps.filter((step) => this.store.markAt(step).is_loud);
    const asking = loud.filter((step) => this.store.markAt(step).tone === "ask");
    const first = new Set([...asking, ...loud].slice(0, this.store.vocabulary.peeled));
    return steps.filter((step) => first.has(step) || step === this.store.chosenBox || this.found.has(step));
  }

  /** The sheet as it is to be drawn now; null where it is as it was. */
  sheet() {
    const shown = new Map(this.numbers.map((number) => [number, this.shownOf(number)]));
    const drawn = JSON.stringify([[...shown], [...this.open]]);
    if (drawn === this.drawn) return null;
    this.drawn = drawn;
    return withRows(this.base, { shown, open: this.open, room: Math.max(this.base.width, this.frame.clientWidth) });
  }
}

/** A sheet with what is drawn below its stacks, `shown` by stack: a row for each step, or the block of an open stack. What is lower moves down. */
function withRows(base, { shown, open, room }) {
  const { pitch } = base;
  const rowsAt = new Map(); // y of a row with stacks -> rows below it
  const grow = (y, rows) => rowsAt.set(y, Math.max(rowsAt.get(y) ?? 0, rows));
  for (const [number, steps] of shown) if (!open.has(number)) grow(base.more[-1 - number][1], steps.length);
  const blocks = [...open].map((number) => {
    const y = base.more[-1 - number][1];
    const block = { ...blockOf(base, number, room), above: rowsAt.get(y) ?? 0 };
    grow(y, block.above + block.rows);
    return block;
  });
  const rows = (isAbove) => [...rowsAt].reduce((sum, [y, count]) => sum + (isAbove(y) ? count : 0), 0) * pitch;
  const moved = (y) => y + rows((above) => y >= above + pitch - 0.5);
  const placeOf = (number, row) => [base.more[-1 - number][0], moved(base.more[-1 - number][1]) + row * pitch];
  const single = [...shown].filter(([number]) => !open.has(number));
  const boxes = single.flatMap(([number, steps]) => steps.map((step, row) => [step, ...placeOf(number, row + 1), base.more[-1 - number][4]]));
  const bands = [];
  for (const { number, steps, columns, left, step: across, rows: down, above } of blocks) {
    const top = placeOf(number, above + 1)[1];
    const width = base.more[-1 - number][4];
    steps.forEach((step, at) => boxes.push([step, left + (at % columns) * across, top + Math.floor(at / columns) * pitch, width]));
    bands.push(["", left - 7, top - 6, (columns - 1) * across + width + 14, down * pitch - 2]);
  }
  const curves = base.curves.map(([source, target, points]) => [source, target, points.map(([x, y]) => [x, moved(y)])]);
  return {
    ...base,
    width: Math.max(base.width, ...blocks.map(({ left, columns, step }) => left + columns * step)),
    height: base.height + rows(() => true),
    boxes: [...base.boxes.map(([step, x, y, width]) => [step, x, moved(y), width]), ...boxes],
    more: base.more.map(([x, y, ...rest]) => [x, moved(y), ...rest]),
    curves: curves.flatMap((curve) => linesOf(curve, new Map(single), placeOf, base)),
    bands: [...base.bands.map(([name, x, y, width, height]) => [name, x, moved(y), width, height + rows((at) => at >= y && at < y + height)]), ...bands],
  };
}

/** The steps of an open stack as rows and columns: as wide as there is room, wider where they are many. */
function blockOf(base, number, room) {
  const [x, , , steps, width] = base.more[-1 - number];
  const across = width + GAP;
  const columns = Math.min(steps.length, Math.max(1, Math.floor((room - MARGIN) / across), Math.ceil(steps.length / BLOCK_ROWS)));
  const left = Math.max(MARGIN, Math.min(x, room - columns * across));
  return { number, steps, columns, left, step: across, rows: Math.ceil(steps.length / columns) };
}

/** A line, and one like it for each step below the stack at one of its ends. */
function linesOf([source, target, points], shown, placeOf, base) {
  const ends = (number, [x, y], isSource) => {
    const itself = [[number, null]];
    if (!shown.has(number)) return itself;
    // A line that goes on below is several pieces: those that touch no stack are drawn once.
    const [left, top] = placeOf(number, 0);
    const side = isSource ? left + base.more[-1 - number][4] : left;
    if (Math.abs(side - x) > 1 || Math.abs(top + base.box[1] / 2 - y) > 1) return itself;
    return [...itself, ...shown.get(number).map((step, row) => [step, placeOf(number, row + 1)[1] + base.box[1] / 2])];
  };
  const last = points.length - 1;
  return ends(source, points[0], true).flatMap(([from, y]) =>
    ends(target, points[last], false).map(([to, v]) => [from, to, points.map(([x, level], at) => [x, (at === 0 ? y : at === last ? v : null) ?? level])]),
  );
}

/** A line as the `d` of a path: level at every point. */
export function pathOf([[x, y], ...rest]) {
  let [path, fromX, fromY] = [`M${x} ${y}`, x, y];
  for (const [toX, toY] of rest) {
    const middle = (fromX + toX) / 2;
    path += toY === fromY ? `H${toX}` : `C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`;
    [fromX, fromY] = [toX, toY];
  }
  return path;
}

/** The steps that a box of a sheet stands for. */
export function stepsAt(sheet, number) {
  return number < 0 ? sheet.more[-1 - number][3] : [number];
}

/** How many of a stack's steps have each mark, in the order of the marks. */
function countsOf({ store }, steps) {
  const counts = new Map();
  for (const step of steps) {
    const mark = store.markAt(step);
    counts.set(mark, (counts.get(mark) ?? 0) + 1);
  }
  return store.vocabulary.marks.filter((mark) => counts.has(mark)).map((mark) => [mark, counts.get(mark)]);
}

/** Draw a box that stands for several steps, where it looks otherwise than before. */
export function drawStack(graph, number) {
  const element = graph.boxes.get(number);
  const [, , label, steps, , isStack] = graph.sheet.more[-1 - number];
  const [width, height] = graph.sizeOf(number);
  const counts = countsOf(graph, steps);
  const isOpen = graph.stacks.open.has(number);
  const isFound = Boolean(graph.matches) && steps.some((step) => graph.matches.has(step));
  const isDim = steps.every((step) => graph.isDim(step, graph.store.markAt(step)));
  const all = steps.length.toLocaleString("en-US");
  const words = counts.map(([mark, count]) => `${count.toLocaleString("en-US")} ${mark.word}`).join(", ");
  const symbols = counts.map(([mark, count]) => `${count.toLocaleString("en-US")} ${mark.symbol}`).join(" ");
  const drawn = [words, isOpen, isFound, isDim, graph.detail].join("|");
  if (graph.shown.get(number) === drawn) return;
  graph.shown.set(number, drawn);
  element.setAttribute("class", ["pixirnb-step pixirnb-idle", isFound ? "pixirnb-found" : "", isDim ? "pixirnb-dim" : ""].filter(Boolean).join(" "));
  element.setAttribute("role", "button");
  const does = isStack ? (isOpen ? "Fold" : "Unfold") : "Show them all";
  element.setAttribute("aria-label", `${label}, ${all} steps: ${words}. ${does}.`);
  if (isStack) element.setAttribute("aria-expanded", String(isOpen));
  const isQueued = counts.length === 1 && counts[0][0].key === "queued";
  let left = 6;
  const part = (width - 12) / steps.length;
  element.replaceChildren(
    s("title", {}, `${label}, ${all} steps: ${words}. ${does}.`),
    ...(isStack && !isOpen ? [s("rect", { class: "pixirnb-copy", x: 3, y: 3, width, height, rx: 7 })] : []),
    ...(graph.sheet.curves.some(([, target]) => target === number) ? [s("path", { class: "pixirnb-head", d: `M0 ${height / 2}l-6 -3.4v6.8z` })] : []),
    s("rect", { class: "pixirnb-box", width, height, rx: 7 }),
    s("text", { class: "pixirnb-name", x: 10, y: 16 }, label),
    s("text", { class: "pixirnb-small", x: 10, y: 29 }, truncateText(isQueued ? `${all} steps` : symbols, width - (isStack ? 34 : 18), 10.5)),
    ...(isStack ? [s("path", { class: "pixirnb-fold", d: isOpen ? `M${width - 20} 29l5 -5l5 5` : `M${width - 20} 24l5 5l5 -5` })] : []),
    ...counts.map(([mark, count]) => {
      const bar = s("rect", { class: `pixirnb-${mark.tone} pixirnb-progress`, x: left, y: height - 4, width: part * count, height: 2.4 });
      left += part * count;
      return bar;
    }),
  );
}
