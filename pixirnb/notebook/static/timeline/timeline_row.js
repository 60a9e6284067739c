// One row of the timeline: a step's name, and its intervals as bars. Elements stay as long as what they show, so that one that has
// the focus keeps it.

import { h, icon, setChildren, setStyle, setText } from "../dom/elements.js";
import { formatClock, formatDuration } from "../dom/formatting.js";
import { textWidth } from "../graph/text_fit.js";
import { labelOf, nameOf } from "../state/step_names.js";
import { NEGLIGIBLE_MS } from "./intervals.js";

const ICON_WIDTH = 20;
const LABEL_PADDING = 28; // px of a bar that are not its label's: the mark and what is around
const LABEL_GAP = 9; // px after a bar: the line of the critical path goes there

export class TimelineRow {
  constructor(timeline, step) {
    this.timeline = timeline;
    this.store = timeline.store;
    this.step = step;
    this.shown = new Map(); // interval -> element
    const { scene } = this.store;
    this.mark = h("span", { class: "pixirnb-row-mark" });
    this.name = h("div", { class: "pixirnb-row-name", role: "rowheader", title: labelOf(scene, step) }, this.mark, h("span", { dir: "auto" }, nameOf(scene, step)));
    this.name.step = step;
    this.lane = h("div", { class: "pixirnb-lane", role: "gridcell" });
    this.after = h("span", { class: "pixirnb-after", "aria-hidden": "true" });
    this.lane.append(this.after);
    this.root = h("div", { class: "pixirnb-timeline-row", role: "row" }, this.name, this.lane);
  }

  /** Draw what is known at the position that is shown. */
  draw() {
    const { timeline, store } = this;
    const position = store.at;
    const mark = store.markAt(this.step);
    if (this.drawnMark !== mark.key) {
      this.drawnMark = mark.key;
      setChildren(this.mark, icon(mark, 13));
      this.name.setAttribute("aria-label", `${labelOf(store.scene, this.step)}: ${mark.word}`);
    }
    this.root.classList.toggle("pixirnb-chosen-row", store.chosen === this.step);
    const seen = new Set();
    let end = 0;
    let last = null;
    let waited = 0;
    for (const interval of timeline.historyIndex.intervals.of[this.step]) {
      if (interval.opened >= position) break;
      seen.add(interval);
      const [from, to] = [timeline.axis.x(interval.from), timeline.axis.x(this.endOf(interval, position))];
      if (interval.kind === "wait") waited = this.endOf(interval, position) - interval.from;
      this.drawBar(interval, from, to, position, waited);
      if (interval.kind !== "wait") [last, waited, end] = [interval, 0, to];
    }
    for (const [interval, element] of this.shown) {
      if (seen.has(interval)) continue;
      if (element === document.activeElement) timeline.frame.focus({ preventScroll: true });
      element.remove();
      this.shown.delete(interval);
    }
    this.drawAfter(last, end, position);
  }

  /** The last span, where its bar has no room for it: after the bar, and beyond the line of the moment where that would cross it. */
  drawAfter(last, end, position) {
    const { wide, isLabeled } = last ? this.shown.get(last) : {};
    const words = last && !isLabeled && last.kind !== "delay" ? this.intervalDuration(last, position) : "";
    setText(this.after, words);
    const left = end + (wide < ICON_WIDTH ? ICON_WIDTH : LABEL_GAP);
    setStyle(this.after, "left", `${labelLeft(left, textWidth(words, this.timeline.labelSize), this.timeline.cursorX).toFixed(1)}px`);
  }

  endOf(interval, position) {
    if (interval.closed < position) return interval.to;
    return Math.max(interval.from, this.store.moment);
  }

  isOpen(interval, position) {
    return interval.closed >= position;
  }

  intervalDuration(interval, position) {
    if (this.isOpen(interval, position)) return (this.store.isLive && !this.store.isPast ? formatClock : formatDuration)(this.endOf(interval, position) - interval.from);
    return formatDuration(interval.elapsed >= 0 ? interval.elapsed : interval.to - interval.from);
  }

  drawBar(interval, from, to, position, waited) {
    let element = this.shown.get(interval);
    const isPlain = interval.kind === "wait";
    if (!element) {
      element = isPlain ? h("i", {}) : h("button", { type: "button", tabindex: "-1" });
      element.interval = interval;
      this.shown.set(interval, element);
      this.lane.insertBefore(element, this.after);
    }
    const width = Math.max(isPlain ? 0 : 3, to - from);
    element.wide = width;
    const mark = this.timeline.historyIndex.markOf(interval, position, this.store.markAt(this.step));
    const isOnPath = this.timeline.path?.set.has(interval) ?? false;
    const drawn = `${from.toFixed(1)}|${width.toFixed(1)}|${mark.key}|${this.isOpen(interval, position)}|${isOnPath}|${waited > 0}`;
    if (element.drawn === drawn) return;
    element.drawn = drawn;
    setStyle(element, "left", `${from.toFixed(1)}px`);
    setStyle(element, "width", `${width.toFixed(1)}px`);
    if (isPlain) {
      element.className = "pixirnb-wait";
      element.title = this.describe(interval, mark, position, 0);
      return;
    }
    const state = [this.isOpen(interval, position) ? "pixirnb-unended" : "", isOnPath ? "pixirnb-critical" : ""].filter(Boolean).join(" ");
    element.className = `pixirnb-interval pixirnb-interval-${interval.kind} pixirnb-as-${mark.key} pixirnb-${mark.tone} ${state}`;
    const words = this.describe(interval, mark, position, waited, isOnPath);
    element.setAttribute("aria-label", words);
    element.title = words;
    this.fillBar(element, interval, mark, width, position);
  }

  fillBar(element, interval, mark, width, position) {
    const shape = interval.kind === "delay" ? null : icon(mark, 12);
    const span = interval.kind === "delay" ? "" : this.intervalDuration(interval, position);
    const tries = interval.kind === "run" && interval.attempt > 1 ? `×${interval.attempt} ` : "";
    const words = span && [`${tries}${span}`, span].find((each) => textWidth(each, this.timeline.labelSize) + LABEL_PADDING <= width);
    element.isLabeled = Boolean(words);
    setChildren(element, shape, words ? h("span", {}, words) : null);
    element.classList.toggle("pixirnb-slim", width < ICON_WIDTH);
  }

  describe(interval, mark, position, waited, isOnPath = false) {
    const name = labelOf(this.store.scene, this.step);
    const span = this.intervalDuration(interval, position);
    const begun = `from ${formatDuration(this.timeline.historyIndex.courses.activeAt(interval.from))}`;
    const parts = {
      run: [`${name}, ${interval.isOfItems ? "items" : `attempt ${interval.attempt}`}: ${mark.word}`, span, begun],
      wait: [`${name}: waiting to start`, span],
      delay: [`${name}: waiting to retry`, span, begun],
      ask: [`${name}: decision requested`, this.isOpen(interval, position) ? "no answer yet" : interval.verdict === 1 ? "accepted" : interval.verdict === 0 ? "rejected" : "no answer", span, begun],
    }[interval.kind];
    if (waited >= NEGLIGIBLE_MS) parts.push(`after waiting ${formatDuration(waited)}`);
    if (isOnPath) parts.push("on the critical path");
    return parts.filter(Boolean).join(", ");
  }
}

/** Where a label begins that may not cross a line: where it would, beyond it. */
export function labelLeft(left, width, line) {
  return line !== null && line > left - LABEL_GAP && line < left + width + LABEL_GAP ? line + LABEL_GAP : left;
}
