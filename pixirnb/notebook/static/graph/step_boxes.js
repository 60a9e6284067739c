// What stands in the box of a step, near and far. Coordinates are those of the saved picture.

import { s, shapeNodes } from "../dom/elements.js";
import { formatClock, formatDuration, pluralize } from "../dom/formatting.js";
import { labelOf, nameOf } from "../state/step_names.js";
import { textWidth, truncateText } from "./text_fit.js";

/** In place of the holder of a ready step that nothing verified; see views/live/tape.py. */
const UNVERIFIED = -2;

const LINE_SCALE = 0.6; // below this scale a printed line cannot be read
const LINE_HEIGHT = 11; // less than the gap below a box: nothing moves when the line appears

/** The line that a running step printed last, where it can be read. */
export function lineInBox(graph, small) {
  return small.printed && graph.camera.scale >= LINE_SCALE ? small.printed : "";
}

/** How the items of a step stand, in words. */
function itemWords({ items, left }) {
  const all = items.reduce((sum, [, count]) => sum + count, 0);
  const words = items.map(([mark, count]) => `${count.toLocaleString("en-US")} ${mark.word}`).join(", ");
  return items.length ? `${pluralize(all, "item")}: ${words}` : `${left} items`;
}

/** A step that can be read: mark, name, attempts; kind, what is odd, time; the line it printed last; how far it says it is. */
export function detailedBox(graph, step, mark, stepState, small) {
  const [width, height] = graph.sizeOf(step);
  const { kinds } = graph.store.scene;
  const line = lineInBox(graph, small);
  const full = line ? height + LINE_HEIGHT : height;
  const caption = captionThatFits(small, width - 38, kinds[step] in graph.store.vocabulary.kinds && kinds[step]);
  const kind = caption.hasIcon ? graph.store.vocabulary.kinds[kinds[step]] : null;
  return [
    s("title", {}, describeStep(graph.store, step, mark, stepState, small)),
    graph.incoming[step].length ? s("path", { class: "pixirnb-head", d: `M0 ${height / 2}l-6 -3.4v6.8z` }) : null,
    graph.store.scene.isolated[step] || graph.store.plannedItems(step) ? s("rect", { class: "pixirnb-copy", x: 3, y: 3, width, height: full, rx: 7 }) : null,
    s("rect", { class: "pixirnb-box", width, height: full, rx: 7 }),
    mark.tone === "idle" ? null : s("rect", { class: "pixirnb-tint", width, height: full, rx: 7 }),
    s("g", { class: `pixirnb-${mark.tone} pixirnb-mark`, transform: `translate(8 ${height / 2 - 8})` }, shapeNodes(mark.shape)),
    s("text", { class: "pixirnb-name", x: 30, y: 16 }, graph.labels.get(step) ?? nameOf(graph.store.scene, step)),
    stepState.attempt > 1 ? s("text", { class: "pixirnb-small pixirnb-tries", x: width - 8, y: 3.5, "text-anchor": "end" }, `×${stepState.attempt}`) : null,
    kind ? s("g", { class: "pixirnb-mute", transform: "translate(30 23) scale(0.625)" }, shapeNodes(kind)) : null,
    s("text", { class: "pixirnb-small", x: kind ? 44 : 30, y: 31 }, caption.left),
    caption.right ? s("text", { class: "pixirnb-small", x: width - 8, y: 31, "text-anchor": "end" }, caption.right) : null,
    line ? s("text", { class: "pixirnb-printed", x: 10, y: 43 }, truncateText(line, width - 18, 10.5)) : null,
    ...itemBars(small.items ?? [], width, full),
    small.fraction === null
      ? null
      : s("rect", { class: "pixirnb-progress", x: 4, y: full - 3, width: Math.max(0, Math.min(1, small.fraction)) * (width - 8), height: 2.4, rx: 1.2 }),
  ];
}

/** How the items of a step stand, in proportion. */
function itemBars(counts, width, height) {
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  let left = 6;
  return counts.map(([mark, count]) => {
    const part = ((width - 12) * count) / all;
    left += part;
    return s("rect", { class: `pixirnb-${mark.tone} pixirnb-progress`, x: left - part, y: height - 4, width: part, height: 2.4 });
  });
}

/** As much of a caption as there is room for. What is odd is never cut: the icon of the kind goes first, then the time, then seconds. */
export function captionThatFits({ left, right }, room, kind) {
  const taken = (words) => (words ? textWidth(words, 10.5) + 6 : 0);
  const icon = kind ? 14 : 0;
  // A kind leaves room for the longest span, as in the saved picture: boxes with shorter ones look alike.
  if (left === kind) return { hasIcon: true, left: icon + textWidth(left, 10.5) + (right ? taken("59 m 59 s") : 0) <= room ? left : "", right };
  const width = textWidth(left, 10.5);
  if (icon + width + taken(right) <= room) return { hasIcon: Boolean(kind), left, right };
  if (width + taken(right) <= room) return { hasIcon: false, left, right };
  return { hasIcon: false, left: width <= room ? left : left.split(" ").slice(0, 3).join(" "), right: "" };
}

/** A step too small to be read: its shape and its tone. */
export function compactBox([width, height], mark) {
  const size = height - 6;
  return [
    s("rect", { class: "pixirnb-box", width, height, rx: 7 }),
    s("rect", { class: mark.tone === "idle" ? "pixirnb-blank" : "pixirnb-tint", width, height, rx: 7 }),
    s("g", { class: `pixirnb-${mark.tone}`, transform: `translate(${(width - size) / 2} 3) scale(${size / 16})` }, shapeNodes(mark.shape)),
  ];
}

/** The second line of a box: kind or what is odd on the left, time on the right. */
export function boxCaption(store, step, mark, stepState) {
  const kind = store.scene.kinds[step];
  const planned = store.plannedItems(step);
  if (planned) return itemsCaption(store, step, mark, stepState, planned);
  if (mark.key === "permission") return { left: "approval", right: "", fraction: null, isStalled: false };
  if (mark.key !== "running") return { left: stepState.holder === UNVERIFIED ? "unverified" : kind, right: formatDuration(stepState.elapsed), fraction: null, isStalled: false };
  const now = store.moment;
  const right = formatClock(now - store.history.startedAt(stepState));
  const heartbeat = store.heartbeatOf(step);
  const quiet = heartbeat ? now - heartbeat[5] : 0;
  const isStalled = Boolean(heartbeat?.[2]);
  const left = isStalled ? `stalled ${formatClock(quiet)}` : quiet >= 5000 ? `quiet ${formatClock(quiet)}` : kind;
  return { left, right, fraction: heartbeat?.[3] ?? null, isStalled, note: heartbeat?.[4] ?? "", printed: heartbeat?.[6] ?? "" };
}

/** The second line of the box of a step with items: how many are ready, of how many. */
function itemsCaption(store, step, mark, stepState, [planned]) {
  const items = store.itemCounts(step);
  const count = (wanted) => items.reduce((sum, [each, some]) => sum + (wanted(each) ? some : 0), 0);
  const all = items.length ? count(() => true) : planned;
  const bad = count(({ tone }) => tone === "bad" || tone === "late");
  const shown = all === null ? "?" : all.toLocaleString("en-US");
  const ready = count(({ key }) => key === "checkpoint_ready").toLocaleString("en-US");
  const left = items.length && mark.key !== "queued" ? `${ready} of ${shown}${bad ? `, ${bad.toLocaleString("en-US")} ✗` : ""}` : `× ${shown}`;
  const right = mark.key === "running" ? formatClock(store.moment - store.history.startedAt(stepState)) : formatDuration(stepState.elapsed);
  return { left, right, items, fraction: null, isStalled: false };
}

/** A box in words, for a pointer that rests on it and for readers. */
export function describeStep({ scene }, step, mark, stepState, small) {
  const holder = stepState.holder < 0 ? "" : mark.key === "skipped" ? `, since ${labelOf(scene, stepState.holder)} was skipped` : `, held by ${labelOf(scene, stepState.holder)}`;
  const parts = [`${labelOf(scene, step)}: ${mark.word}${holder}`, `${scene.kinds[step]} step${scene.isolated[step] ? " in an isolated workspace" : ""}`];
  if (stepState.attempt > 1) parts.push(`attempt ${stepState.attempt}`);
  if (small.right) parts.push(small.right);
  if (small.items) parts.push(itemWords(small));
  else if (small.left !== scene.kinds[step]) parts.push(small.left);
  if (small.fraction !== null) parts.push(`${Math.round(small.fraction * 100)} %`);
  if (small.note) parts.push(small.note);
  return parts.join(", ");
}
