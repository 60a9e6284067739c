// The timeline: a row a step in the order of their starts, a bar an attempt, thin lines where it waited; and the chain of steps
// the length of the course hung on. Only the rows in sight are in the page.

import { button, h, handleKey, s, setChildren, setStyle, setText, zoomOnWheel } from "../dom/elements.js";
import { formatClock, formatDuration, pluralize } from "../dom/formatting.js";
import { nameOf } from "../state/step_names.js";
import { Axis } from "./axis.js";
import { historyIndexOf } from "./history_index.js";
import { TimelineRow } from "./timeline_row.js";

const ROW_HEIGHT = 26;
const NAME_WIDTH = 176;
const NARROW_NAME_WIDTH = 118;
const END_WIDTH = 76; // px after the last bar, for its words
const MAX_CHART_WIDTH = 400_000; // px: wider, browsers lose count
const VISIBLE_ROWS = 18;
const PATH_ENDS = 4;

export class Timeline {
  constructor(view) {
    this.view = view;
    this.store = view.store;
    this.rows = new Map(); // step -> Bars
    this.isFit = true;
    this.isPathShown = true;
    this.words = h("p", { class: "pixirnb-path" });
    this.pathSwitch = button("Critical path", () => this.switchPath(), { pressed: true, title: "Show critical path: the chain of steps that determined how long this invocation took" });
    this.tools = h(
      "div",
      { class: "pixirnb-tools", role: "toolbar", "aria-label": "Timeline" },
      this.pathSwitch,
      button("−", () => this.zoom(0.6), { title: "Zoom out" }),
      button("+", () => this.zoom(1.6), { title: "Zoom in" }),
      button("Fit", () => this.fit(), { title: "Show the whole run" }),
    );
    for (const [index, name] of [[1, "Zoom out in time"], [2, "Zoom in on time"]]) this.tools.children[index].setAttribute("aria-label", name);
    this.ticks = h("div", { class: "pixirnb-ticks" });
    this.corner = h("div", { class: "pixirnb-timeline-corner" }, "step");
    this.head = h("div", { class: "pixirnb-axis", "aria-hidden": "true", title: "Drag to replay", on: { pointerdown: (event) => this.scrub(event), pointermove: (event) => event.buttons && this.scrub(event) } }, this.ticks, this.corner);
    this.lines = h("div", { class: "pixirnb-ruled", "aria-hidden": "true" });
    this.axis = new Axis(this.ticks, this.lines);
    this.overlay = h("div", { class: "pixirnb-past-overlay", "aria-hidden": "true" });
    this.cursor = h("div", { class: "pixirnb-cursor", "aria-hidden": "true" });
    this.pathLine = s("svg", { class: "pixirnb-path-line", width: 1, height: 1, "aria-hidden": "true" });
    this.remainder = h("div", { class: "pixirnb-rest" });
    this.content = h("div", { class: "pixirnb-chart-content", role: "presentation" }, this.head, this.lines, this.overlay, this.pathLine, this.cursor, this.remainder);
    this.frame = h(
      "div",
      { class: "pixirnb-chart", role: "grid", "aria-label": "Steps over time", tabindex: "0", on: { scroll: () => this.scrolled(), keydown: (event) => this.onKey(event), click: (event) => this.onClick(event) } },
      this.content,
    );
    zoomOnWheel(this.frame, (factor, [x]) => this.zoom(factor, x));
    this.frame.addEventListener("focusin", (event) => this.setTabStop(event.target));
    this.root = h("div", { class: "pixirnb-timeline", hidden: true }, h("div", { class: "pixirnb-timeline-head" }, this.words, this.tools), this.frame);
    this.frameSize = [0, 0]; // width and height of the frame, and how far it is scrolled: read when they change, not when drawn
    this.scroll = [0, 0];
    this.labelSize = 11; // px
    this.resizeObserver = new ResizeObserver(([{ contentRect }]) => {
      this.frameSize = [contentRect.width, contentRect.height];
      this.labelSize = 0.846 * parseFloat(getComputedStyle(this.frame).fontSize);
      if (!this.root.hidden) this.layout();
    });
    this.resizeObserver.observe(this.frame);
  }

  draw({ has }) {
    this.historyIndex = historyIndexOf(this.store);
    if (has("reset")) this.clear();
    this.layout();
  }

  clear() {
    for (const row of this.rows.values()) row.root.remove();
    this.rows.clear();
    this.pathDrawn = null;
  }

  // --- what is where ---

  /** Sizes, then all that is in sight. */
  layout() {
    const { frame, store, historyIndex } = this;
    const [width] = this.frameSize;
    if (!historyIndex || !width) return;
    this.nameRoom = width < 640 ? NARROW_NAME_WIDTH : NAME_WIDTH;
    const { axis } = this;
    axis.update(historyIndex.courses, historyIndex.reach(store));
    const fitting = axis.fitting(width - this.nameRoom - END_WIDTH);
    if (this.isFit) axis.scale = fitting;
    else axis.scale = Math.min(Math.max(axis.scale, fitting), Math.max(fitting, Math.min(4, MAX_CHART_WIDTH / axis.span)));
    const { order } = historyIndex.intervals;
    let count = order.length;
    while (count > 0 && order[count - 1][0] >= store.at) count -= 1;
    this.count = count;
    const left = store.scene.ids.length - count;
    setText(this.remainder, left ? `${pluralize(left, "step")} ${store.isLive || store.isPast ? "not started yet" : "never started"}` : "");
    const top = axis.height;
    // In the past it is as high as now: nothing may jump under a hand that drags.
    const rows = order.length + (store.scene.ids.length > order.length ? 1 : 0);
    setStyle(this.content, "width", `${Math.max(Math.floor(width), Math.ceil(this.nameRoom + axis.width + END_WIDTH))}px`);
    setStyle(this.content, "height", `${top + rows * ROW_HEIGHT + 4}px`);
    setStyle(frame, "max-height", `${top + VISIBLE_ROWS * ROW_HEIGHT + 18}px`);
    setStyle(this.content, "--px-names", `${this.nameRoom}px`);
    setStyle(this.head, "height", `${top}px`);
    setStyle(this.corner, "height", `${top}px`);
    setStyle(this.lines, "top", `${top}px`);
    setStyle(this.remainder, "top", `${top + count * ROW_HEIGHT}px`);
    if (this.shownCount !== count) {
      this.shownCount = count;
      frame.setAttribute("role", count ? "grid" : "group"); // a grid has rows
      if (count) frame.setAttribute("aria-rowcount", String(count));
      else frame.removeAttribute("aria-rowcount");
    }
    this.autoScroll(top + (count + (left ? 1 : 0)) * ROW_HEIGHT + 4);
    this.drawPath();
    this.drawCursor();
    this.updateVisible();
  }

  /** Who looks at the last row sees the next one come, live and while the history is played; nobody looks below it. */
  autoScroll(height) {
    const before = this.height ?? height;
    this.height = height;
    const isAtEnd = this.scroll[0] + this.frameSize[1] >= before - ROW_HEIGHT;
    const last = Math.max(0, height - this.frameSize[1]);
    if (this.scroll[0] > last || (height > before && isAtEnd && last)) this.frame.scrollTop = last;
  }

  scrolled() {
    this.scroll = [this.frame.scrollTop, this.frame.scrollLeft];
    if (this.historyIndex) this.updateVisible();
  }

  /** Bring the rows into the page that came into sight, take away those that left it. */
  updateVisible() {
    const [top, left] = this.scroll;
    const [width] = this.frameSize;
    this.axis.draw(left, left + width);
    const [first, last] = [Math.floor(top / ROW_HEIGHT) - 4, Math.ceil(top / ROW_HEIGHT) + VISIBLE_ROWS + 5];
    const kept = new Set();
    for (let index = Math.max(0, first); index < Math.min(this.count, last); index += 1) {
      const step = this.historyIndex.intervals.order[index][1];
      kept.add(step);
      this.drawRow(step, index);
    }
    for (const [step, row] of this.rows) {
      if (kept.has(step)) continue;
      const index = this.placeOf(step);
      if (index >= 0 && row.root.contains(document.activeElement)) {
        this.drawRow(step, index); // it keeps the focus, out of sight
        continue;
      }
      row.root.remove();
      this.rows.delete(step);
    }
    this.drawPathLine(first, last);
    this.keepTabStop();
  }

  placeOf(step) {
    const index = this.historyIndex.intervals.rows.get(step) ?? -1;
    return index < this.count ? index : -1;
  }

  drawRow(step, index) {
    let row = this.rows.get(step);
    if (!row) {
      row = new TimelineRow(this, step);
      this.rows.set(step, row);
      // In the order of the rows, for whoever reads the page instead of looking at it.
      const after = [...this.rows.values()].find((other) => other.index > index);
      this.content.insertBefore(row.root, after?.root ?? this.remainder);
    }
    if (row.index !== index) row.root.setAttribute("aria-rowindex", String(index + 1));
    row.index = index;
    setStyle(row.root, "top", `${this.axis.height + index * ROW_HEIGHT}px`);
    row.draw();
  }

  drawCursor() {
    const { store, axis } = this;
    const isShown = store.isPast || store.isLive;
    this.cursor.hidden = !isShown;
    this.overlay.hidden = !store.isPast;
    this.cursorX = isShown ? axis.x(store.moment) : null;
    if (!isShown) return;
    const x = this.nameRoom + this.cursorX;
    setStyle(this.cursor, "transform", `translateX(${x.toFixed(1)}px)`);
    this.cursor.classList.toggle("pixirnb-cursor-past", store.isPast);
    setStyle(this.overlay, "left", `${x.toFixed(1)}px`);
  }

  // --- the critical path ---

  switchPath() {
    this.isPathShown = !this.isPathShown;
    this.pathSwitch.setAttribute("aria-pressed", String(this.isPathShown));
    this.layout();
  }

  drawPath() {
    const { store, historyIndex } = this;
    const found = historyIndex.pathAt(store.at);
    this.path = this.isPathShown ? found : null;
    const course = found && historyIndex.courses.list[found.course];
    const total = found ? historyIndex.courses.activeAt(store.moment) - course.activeBefore : 0;
    const worked = Math.min(total, (found?.worked ?? 0) + (found?.running ? Math.max(0, store.moment - found.running.from) : 0));
    const [span, part] = [total, worked].map(store.isLive && !store.isPast ? formatClock : formatDuration);
    const drawn = `${found?.course}|${found?.limit}|${this.isPathShown}|${span}|${part}`;
    // A button that has the focus stays; the sentence is right again when the focus goes on.
    if ((drawn === this.pathDrawn && found === this.pathFound) || this.words.contains(document.activeElement)) return;
    [this.pathDrawn, this.pathFound] = [drawn, found];
    this.words.hidden = !this.isPathShown;
    if (!found) {
      setChildren(this.words, h("span", { class: "pixirnb-mute" }, !store.at ? "" : store.isLive || store.isPast ? "No step has run yet." : "No step ran in the last invocation."));
      return;
    }
    const prefix = historyIndex.courses.list.length > 1 ? `Invocation ${found.course + 1}, critical path ` : "Critical path ";
    const { links } = found;
    const shown = links.length <= 2 * PATH_ENDS + 1 ? links : [...links.slice(0, PATH_ENDS), null, ...links.slice(-PATH_ENDS)];
    setChildren(
      this.words,
      prefix,
      h("b", {}, part),
      ` of ${span}: `,
      shown.map((link, number) => [
        number ? h("span", { class: "pixirnb-mute", title: link?.why === "slot" ? "waited for a free slot or for a conflicting step" : null }, link?.why === "slot" ? " ⇢ " : " → ") : null,
        link ? this.pathStep(link.step) : h("span", { class: "pixirnb-mute" }, `${links.length - 2 * PATH_ENDS} more`),
      ]),
    );
  }

  pathStep(step) {
    return h("button", { type: "button", class: "pixirnb-link", on: { click: () => this.store.choose(step) } }, nameOf(this.store.scene, step));
  }

  /** Lines from the end of each link to the beginning of the next, between two rows: what is out of sight costs nothing. */
  drawPathLine(first, last) {
    const { path, axis } = this;
    let d = "";
    path?.links.forEach((link, number) => {
      const before = path.links[number - 1];
      if (!before) return;
      const [above, below] = [this.placeOf(before.step), this.placeOf(link.step)];
      if (Math.max(above, below) < first || Math.min(above, below) > last) return;
      const middle = (index) => axis.height + (Math.min(last, Math.max(first, index)) + 0.5) * ROW_HEIGHT;
      const from = this.nameRoom + axis.x(before.intervals.at(-1).to);
      const to = this.nameRoom + axis.x(link.intervals[0].from);
      const x = Math.max(from, Math.min(to, from + 5));
      d += `M${from.toFixed(1)} ${middle(above)}H${x.toFixed(1)}V${middle(below)}${below > last ? "" : `H${to.toFixed(1)}`}`;
    });
    if (d === this.pathLineDrawn) return;
    this.pathLineDrawn = d;
    setChildren(this.pathLine, d ? s("path", { d }) : null);
  }

  // --- hands ---

  /** The axis is the strip, tall: a hand on it moves along time. */
  scrub(event) {
    if (event.buttons !== 1 || event.target === this.corner) return;
    event.preventDefault();
    this.head.setPointerCapture(event.pointerId);
    this.view.replay.seekTime(this.axis.time(event.clientX - this.head.getBoundingClientRect().left - this.nameRoom));
  }

  zoom(factor, x = null) {
    const { frame, axis } = this;
    const [width] = this.frameSize;
    const at = x ?? this.nameRoom + (width - this.nameRoom) / 2;
    const ahead = frame.scrollLeft + at - this.nameRoom;
    const before = axis.scale;
    this.isFit = false;
    axis.scale *= factor;
    this.layout();
    this.isFit = axis.scale <= axis.fitting(width - this.nameRoom - END_WIDTH) * 1.001;
    frame.scrollLeft += ahead * (axis.scale / before) - ahead;
    this.scrolled();
  }

  fit() {
    this.isFit = true;
    this.frame.scrollLeft = 0;
    this.layout();
  }

  onClick(event) {
    const { interval } = event.target.closest(".pixirnb-interval") ?? {};
    const { step } = event.target.closest(".pixirnb-row-name") ?? interval ?? {};
    if (step === undefined) return;
    const [first] = this.barsOf(step);
    if (!interval && first) this.reveal(first);
    this.store.choose(this.store.chosen === step && !interval ? -1 : step);
  }

  /** Exactly one bar can be reached by Tab; arrows go on from there. */
  setTabStop(element) {
    if (!element.interval) return;
    this.tabStopBar()?.setAttribute("tabindex", "-1");
    this.tabStop = element.interval;
    element.setAttribute("tabindex", "0");
    this.frame.setAttribute("tabindex", "-1");
  }

  tabStopBar() {
    return this.tabStop ? this.rows.get(this.tabStop.step)?.shown.get(this.tabStop) : null;
  }

  /** Where the bar that Tab reaches is out of sight, the frame itself can be reached. */
  keepTabStop() {
    const bar = this.tabStopBar();
    if (bar) bar.setAttribute("tabindex", "0");
    const tabindex = bar ? "-1" : "0";
    if (this.frame.getAttribute("tabindex") !== tabindex) this.frame.setAttribute("tabindex", tabindex);
  }

  onKey(event) {
    handleKey(event, {
      ArrowLeft: () => this.moveInRow(-1),
      ArrowRight: () => this.moveInRow(1),
      ArrowUp: () => this.moveAcrossRows(-1),
      ArrowDown: () => this.moveAcrossRows(1),
      Home: () => this.focusRow(0),
      End: () => this.focusRow(this.count - 1),
      Escape: () => this.store.choose(-1),
      "+": () => this.zoom(1.6),
      "-": () => this.zoom(0.6),
      0: () => this.fit(),
    });
  }

  /** The interval whose bar has the focus; where none has, the first row in sight is given it. */
  focusedInterval() {
    const { interval } = document.activeElement ?? {};
    if (!interval) this.focusRow(Math.max(0, Math.floor(this.frame.scrollTop / ROW_HEIGHT)));
    return interval;
  }

  moveInRow(direction) {
    const interval = this.focusedInterval();
    if (!interval) return;
    const bars = this.barsOf(interval.step);
    const next = bars[bars.indexOf(interval) + direction];
    if (next) this.focus(next);
  }

  moveAcrossRows(direction) {
    const interval = this.focusedInterval();
    if (!interval) return;
    for (let index = this.placeOf(interval.step) + direction; index >= 0 && index < this.count; index += direction) {
      const bars = this.barsOf(this.historyIndex.intervals.order[index][1]);
      if (!bars.length) continue;
      const distance = (each) => Math.abs(each.from + each.to - interval.from - interval.to);
      this.focus(bars.reduce((best, each) => (distance(each) < distance(best) ? each : best)));
      return;
    }
  }

  focusRow(index) {
    const entry = this.historyIndex.intervals.order[index];
    const [first] = entry && index < this.count ? this.barsOf(entry[1]) : [];
    if (first) this.focus(first);
  }

  barsOf(step) {
    return this.historyIndex.intervals.of[step].filter((interval) => interval.kind !== "wait" && interval.opened < this.store.at);
  }

  focus(interval) {
    this.reveal(interval);
    this.rows.get(interval.step)?.shown.get(interval)?.focus({ preventScroll: true });
  }

  /** Bring the beginning of a bar into sight, with the least movement. */
  reveal(interval) {
    const index = this.placeOf(interval.step);
    const { frame, axis } = this;
    const [top, left] = [index * ROW_HEIGHT, axis.x(interval.from)];
    const room = frame.clientHeight - axis.height;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top + ROW_HEIGHT > frame.scrollTop + room) frame.scrollTop = top + ROW_HEIGHT - room;
    if (left < frame.scrollLeft || left > frame.scrollLeft + frame.clientWidth - this.nameRoom - 40) frame.scrollLeft = Math.max(0, left - 40);
    this.scrolled();
  }
}
