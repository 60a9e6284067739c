// The graph: boxes in columns where the kernel placed them, stacks, and lines for who waits on whom. Only what is in sight is in the
// page, and only what looks different is touched. Far away, a box is its shape alone.

import { h, handleKey, s, setChildren } from "../dom/elements.js";
import { dependentsOf } from "../state/run_history.js";
import { workflowNameOf } from "../state/step_names.js";
import { Camera } from "./camera.js";
import { CanvasRenderer } from "./canvas_renderer.js";
import { conflictLines, showUnlocked } from "./edge_overlays.js";
import { Overview } from "./overview.js";
import { boxCaption, compactBox, describeStep, detailedBox, lineInBox } from "./step_boxes.js";
import { matchingSteps, nearestBox } from "./step_search.js";
import { drawStack, pathOf, Stacks, stepsAt } from "./stacks.js";

const HOLDING_TONES = new Set(["bad", "late", "half", "ask"]); // of steps that keep others from starting
const MIN_DETAIL_SCALE = 0.42; // below this scale names cannot be read
const MAX_FRAME_HEIGHT = 560;
const MAX_ANIMATED_BOXES = 60; // boxes in sight up to which what runs may be animated: each frame paints
const MAX_SVG_BOXES = 600; // in sight: with more, a change in one takes longer than a frame, and all are drawn on the canvas
const MAX_MOVING_BOXES = 300; // the same, while the replay moves: a change in one of them has all painted again
const MAX_SINGLE_EDGES = 4000; // in sight: with more, they are one path without states

export class Graph {
  constructor(store) {
    this.store = store;
    this.boxes = new Map(); // step -> element in the page
    this.lines = new Map(); // curve -> element in the page
    this.shown = new Map(); // step -> what its element shows
    this.matches = null; // steps that match the search, or null
    this.highlightedKey = null; // key of a mark whose steps stand out, or null
    this.withConflicts = false;
    this.isMoving = false; // whether the replay is dragged or plays
    this.bands = s("g");
    this.edges = s("g", { "aria-hidden": "true" });
    this.extras = s("g", { "aria-hidden": "true" });
    this.nodes = s("g");
    // Two layers: a box that changes does not make the lines beneath be painted again.
    this.lowerLayer = s("g", {}, this.bands, this.edges, this.extras);
    this.upperLayer = s("g", {}, this.nodes);
    this.frame = h(
      "div",
      { class: "pixirnb-frame", on: { keydown: (event) => this.onKey(event), click: (event) => this.onClick(event) } },
      s("svg", { class: "pixirnb-graph", "aria-hidden": "true" }, this.lowerLayer),
      s("svg", { class: "pixirnb-graph", role: "group", "aria-label": `Steps of ${workflowNameOf(store.scene)}, in columns by wave` }, this.upperLayer),
    );
    this.canvasRenderer = new CanvasRenderer(this);
    this.overview = new Overview(this);
    this.frame.append(this.canvasRenderer.canvas, this.overview.root);
    this.camera = new Camera(this.frame, () => this.onCamera());
    this.setSheet();
  }

  /** Take the sheet that is to be shown, and draw it from nothing. */
  setSheet() {
    const { scene } = this.store;
    this.stacks = new Stacks(this.store, scene.sheets[Math.min(this.store.sheet, scene.sheets.length - 1)], this.frame);
    this.matches = null;
    this.dependents = null;
    this.showSheet(this.stacks.sheet());
  }

  showSheet(sheet) {
    this.sheet = sheet;
    this.positions = new Map(this.sheet.boxes.map(([step, ...place]) => [step, place])); // step -> [x, y, width]
    this.sheet.more.forEach(([x, y, , , width], number) => this.positions.set(-1 - number, [x, y, width]));
    this.labels = new Map(this.sheet.labels);
    this.incoming = Array.from(this.store.scene.ids, () => []);
    this.sheet.curves.forEach(([, target], index) => this.incoming[target]?.push(index));
    this.placeholderOf = new Map();
    this.sheet.more.forEach(([, , , steps], number) => steps.forEach((step) => this.placeholderOf.set(step, -1 - number)));
    this.edgeBounds = this.sheet.curves.map(([source, target]) => this.boundsOf(source, target));
    for (const kept of [this.boxes, this.lines, this.shown]) kept.clear();
    setChildren(this.bands, this.sheet.bands.map((band) => this.band(band)));
    for (const part of [this.edges, this.nodes, this.extras]) setChildren(part);
    this.mergedCount = 0;
    this.detail = null;
  }

  /** Show the steps that are to be seen by themselves now, and no others, beside the stacks. */
  refold() {
    const sheet = this.frame.clientWidth ? this.stacks.sheet() : null; // out of sight it waits
    if (!sheet) return;
    const focused = this.frame.contains(document.activeElement) ? document.activeElement.step : undefined;
    this.showSheet(sheet);
    this.drawConflicts();
    this.camera.sheet = sheet;
    if (this.camera.isUserSet) this.camera.set(this.camera.x, this.camera.y, this.camera.scale);
    else this.resetCamera();
    if (focused === undefined) return;
    const next = this.positions.has(focused) ? focused : this.placeholderOf.get(focused);
    this.setTabStop(next);
    this.boxes.get(next)?.focus({ preventScroll: true });
  }

  /** Once the frame has a size, or another: look where the person chose to look, else at as much as can be read. */
  resetCamera() {
    const { camera } = this.store;
    const scale = this.camera.reset(this.sheet, MAX_FRAME_HEIGHT);
    if (!camera || !this.frame.style.height) {
      const height = Math.min(MAX_FRAME_HEIGHT, Math.max(60, this.sheet.height * scale + 4));
      this.frame.style.height = `${height}px`;
    }
    this.camera.isUserSet = Boolean(camera);
    this.camera.set(...(camera ?? [0, 0, scale]));
  }

  /** `[width, height]` of a box. */
  sizeOf(step) {
    return [this.positions.get(step)[2], this.sheet.box[1]];
  }

  boundsOf(source, target) {
    const [width, height] = this.sheet.box;
    const [[x, y], [u, v]] = [this.positions.get(source) ?? [0, 0], this.positions.get(target) ?? [0, 0]];
    return [Math.min(x, u), Math.min(y, v) - 60, Math.max(x, u) + width, Math.max(y, v) + height + 60];
  }

  band([name, x, y, width, height]) {
    return [
      s("rect", { class: "pixirnb-band", x, y, width, height, rx: 6 }),
      s("text", { class: "pixirnb-small", x: x + 8, y: y + 13 }, name),
    ];
  }

  // --- what is in sight ---

  onCamera() {
    const { x, y, scale } = this.camera;
    if (this.camera.isUserSet) this.store.camera = [x, y, scale];
    const seen = `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`;
    for (const layer of [this.lowerLayer, this.upperLayer]) layer.setAttribute("transform", seen);
    this.updateVisible();
  }

  /** Bring into the page what came into sight, take away what left it. */
  updateVisible() {
    const [left, top, right, bottom] = this.camera.viewport();
    const height = this.sheet.box[1];
    const inSight = [];
    for (const [step, [x, y, width]] of this.positions) {
      if (x + width >= left - 80 && x <= right + 80 && y + height >= top - 80 && y <= bottom + 80) inSight.push(step);
    }
    const detail = this.camera.scale >= MIN_DETAIL_SCALE ? "near" : inSight.length > (this.isMoving ? MAX_MOVING_BOXES : MAX_SVG_BOXES) ? "canvas" : "far";
    if (detail !== this.detail) {
      this.detail = detail;
      this.frame.classList.toggle("pixirnb-far", detail !== "near");
      this.boxes.clear();
      this.shown.clear();
      setChildren(this.nodes);
    }
    const focused = this.frame.contains(document.activeElement) ? document.activeElement : null;
    const kept = new Set(inSight);
    if (detail === "canvas") for (const step of this.boxes.keys()) if (step !== this.tabStop) kept.delete(step);
    for (const [step, element] of this.boxes) {
      if (kept.has(step) || element === focused) continue;
      element.remove();
      this.boxes.delete(step);
      this.shown.delete(step);
    }
    if (detail === "canvas") {
      this.inSight = inSight;
      this.canvasRenderer.paint(inSight);
      if (!kept.has(this.tabStop)) this.tabStop = inSight[0];
    } else {
      this.canvasRenderer.hide();
    }
    // On the canvas there is one step in the page: the one that keys move on from.
    const built = detail === "canvas" ? [this.tabStop] : inSight;
    for (const step of built) if (!this.boxes.has(step)) this.addBox(step);
    this.frame.classList.toggle("pixirnb-lively", this.boxes.size <= MAX_ANIMATED_BOXES);
    if (!this.boxes.has(this.tabStop)) this.setTabStop([...this.boxes.keys()].find((step) => step >= 0) ?? [...this.boxes.keys()][0]);
    this.updateEdges(left, top, right, bottom);
    this.overview.follow();
  }

  updateEdges(left, top, right, bottom) {
    const seen = [];
    this.edgeBounds.forEach(([x, y, u, v], index) => {
      if (u >= left && x <= right && v >= top && y <= bottom) seen.push(index);
    });
    this.hasMergedEdges = seen.length > MAX_SINGLE_EDGES;
    if (this.hasMergedEdges) {
      if (this.lines.size === 0 && this.mergedCount === seen.length) return;
      this.mergedCount = seen.length;
      this.lines.clear();
      const all = seen.map((index) => pathOf(this.sheet.curves[index][2])).join("");
      setChildren(this.edges, s("path", { class: "pixirnb-edge", d: all }));
    } else {
      this.mergedCount = 0;
      this.updateLines(new Set(seen));
    }
  }

  updateLines(seen) {
    if (!this.lines.size) setChildren(this.edges);
    for (const [index, line] of this.lines) {
      if (!seen.has(index)) {
        line.remove();
        this.lines.delete(index);
      }
    }
    for (const index of seen) {
      if (this.lines.has(index)) continue;
      const line = s("path", { d: pathOf(this.sheet.curves[index][2]) });
      this.lines.set(index, line);
      this.edges.append(line);
      this.drawLine(index);
    }
  }

  addBox(step) {
    const [x, y] = this.positions.get(step);
    const element = s("g", { class: "pixirnb-step", transform: `translate(${x} ${y})`, tabindex: "-1" });
    element.step = step;
    this.boxes.set(step, element);
    this.nodes.append(element);
    if (step >= 0) this.drawBox(step);
    else drawStack(this, step);
  }

  // --- drawing ---

  /** The steps in `touched` look different, or all may. */
  refresh(touched = null) {
    this.overview.schedule();
    if (!touched || [...touched].some((step) => this.stacks.stackOf.has(step))) this.refold();
    if (this.detail === "canvas") this.canvasRenderer.paint(this.inSight);
    const steps = touched ?? this.store.scene.ids.keys();
    const moreTouched = new Set();
    for (const step of steps) {
      if (this.boxes.has(step)) this.drawBox(step);
      if (this.placeholderOf.has(step)) moreTouched.add(this.placeholderOf.get(step));
    }
    for (const number of moreTouched) if (this.boxes.has(number)) drawStack(this, number);
    if (this.hasMergedEdges) return;
    if (touched === null || moreTouched.size) {
      for (const index of this.lines.keys()) if (touched === null || this.sheet.curves[index].some((end) => moreTouched.has(end))) this.drawLine(index);
    }
    if (touched === null) return;
    for (const step of touched) {
      for (const index of this.incoming[step] ?? []) if (this.lines.has(index)) this.drawLine(index);
      for (const next of this.dependentsOf(step)) {
        for (const index of this.incoming[next] ?? []) if (this.lines.has(index)) this.drawLine(index);
      }
    }
  }

  dependentsOf(step) {
    return (this.dependents ??= dependentsOf(this.store.scene.needs))[step] ?? [];
  }

  /** Running steps' clocks. */
  tick() {
    for (const step of this.boxes.keys()) if (step >= 0 && this.store.markAt(step).key === "running") this.drawBox(step);
  }

  drawBox(step) {
    const { store } = this;
    const element = this.boxes.get(step);
    const mark = store.markAt(step);
    const stepState = store.stepStateOf(step);
    const small = boxCaption(store, step, mark, stepState);
    const state = [
      store.chosenBox === step ? "pixirnb-chosen" : "",
      this.isDim(step, mark) ? "pixirnb-dim" : "",
      this.matches?.has(step) ? "pixirnb-found" : "",
      small.isStalled ? "pixirnb-stalled" : "",
    ].filter(Boolean).join(" ");
    const words = this.detail === "near" ? `${small.left}|${small.right}|${small.items?.map(([, count]) => count)}|${small.fraction}|${lineInBox(this, small)}` : "";
    const drawn = `${mark.key}|${stepState.attempt}|${words}|${state}`;
    if (this.shown.get(step) === drawn) return;
    this.shown.set(step, drawn);
    element.setAttribute("class", `pixirnb-step pixirnb-${mark.tone}${mark.key === "held" || mark.key === "skipped" ? " pixirnb-held" : mark.key === "running" ? " pixirnb-runs" : ""} ${state}`);
    element.setAttribute("role", "button");
    element.setAttribute("aria-pressed", String(store.chosenBox === step));
    element.setAttribute("aria-label", describeStep(store, step, mark, stepState, small));
    const box = this.sizeOf(step);
    if (this.detail === "near") setChildren(element, detailedBox(this, step, mark, stepState, small));
    else setChildren(element, this.detail === "far" ? compactBox(box, mark) : s("rect", { class: "pixirnb-spot", width: box[0], height: box[1] }));
  }

  /** Whether others stand out: steps that were searched for, or of a status that was asked for. */
  isDim(step, mark) {
    return Boolean((this.matches && !this.matches.has(step)) || (this.highlightedKey && this.highlightedKey !== mark.key));
  }

  drawLine(index) {
    const [source, target] = this.sheet.curves[index];
    const { store } = this;
    let state = "pixirnb-edge";
    if (target < 0 || source < 0) {
      if (!stepsAt(this.sheet, source).every((step) => store.markAt(step).key === "checkpoint_ready")) state = "pixirnb-edge pixirnb-open";
    } else {
      const mark = store.markAt(target);
      const { tone } = store.markAt(source);
      if (mark.key === "held" && (store.stepStateOf(target).holder === source || HOLDING_TONES.has(tone))) state = `pixirnb-hold pixirnb-${tone}`;
      else if (store.markAt(source).key !== "checkpoint_ready" && mark.key !== "planned") state = "pixirnb-edge pixirnb-open";
    }
    if (store.chosen >= 0 && (source === store.chosenBox || target === store.chosenBox)) state += " pixirnb-near";
    const line = this.lines.get(index);
    const before = line.getAttribute("class");
    if (before === state) return;
    line.setAttribute("class", state);
    const isUnlocked = before?.includes("pixirnb-open") && !state.includes("pixirnb-open") && source >= 0 && store.markAt(source).key === "checkpoint_ready";
    if (isUnlocked && store.isLive && !store.isPast && this.frame.classList.contains("pixirnb-lively")) showUnlocked(line);
  }

  /** Lines between steps that cannot run together, where they are wanted. */
  drawConflicts() {
    setChildren(this.extras, this.withConflicts ? conflictLines(this) : []);
  }

  // --- hands ---

  onClick(event) {
    const step = event.target.closest(".pixirnb-step")?.step ?? (this.detail === "canvas" ? this.canvasRenderer.stepAt(event) : undefined);
    if (step !== undefined) this.pick(step);
  }

  pick(step) {
    if (step < 0) {
      if (this.stacks.numbers.includes(step)) {
        this.stacks.toggle(step);
        this.refold();
        this.reveal(step);
      } else {
        this.store.unfold(1);
      }
      return;
    }
    this.setTabStop(step);
    this.store.choose(this.store.chosen === step ? -1 : step);
  }

  /** Exactly one box can be reached by Tab; arrows go on from there. */
  setTabStop(step) {
    if (step === undefined) return;
    this.boxes.get(this.tabStop)?.setAttribute("tabindex", "-1");
    this.tabStop = step;
    if (this.detail === "canvas") this.updateVisible();
    this.boxes.get(step)?.setAttribute("tabindex", "0");
  }

  reveal(one, { focus = false, close = false } = {}) {
    const step = this.store.boxOf(one);
    if (!this.positions.has(step) && this.stacks.stackOf.has(step)) {
      this.stacks.found.add(step);
      this.refold();
    }
    if (!this.positions.has(step)) {
      if (this.placeholderOf.has(step) && !this.stacks.stackOf.has(step)) this.store.unfold(1);
      return;
    }
    const [x, y] = this.positions.get(step);
    this.camera.reveal(x, y, ...this.sizeOf(step), { close });
    this.setTabStop(step);
    if (focus) this.boxes.get(step)?.focus({ preventScroll: true });
  }

  onKey(event) {
    const here = event.target.closest?.(".pixirnb-step")?.step;
    handleKey(event, {
      ArrowLeft: () => this.moveFocus(here, -1, 0),
      ArrowRight: () => this.moveFocus(here, 1, 0),
      ArrowUp: () => this.moveFocus(here, 0, -1),
      ArrowDown: () => this.moveFocus(here, 0, 1),
      Enter: () => here !== undefined && this.pick(here),
      " ": () => here !== undefined && this.pick(here),
      Escape: () => this.store.choose(-1),
      "+": () => this.camera.zoom(1.25),
      "-": () => this.camera.zoom(0.8),
      0: () => this.camera.fit(),
    });
  }

  /** The nearest box in a direction: along the rows for right and left, along the column for up and down. */
  moveFocus(here, right, down) {
    if (here === undefined) return;
    const best = nearestBox(this.positions, here, right, down);
    if (best !== undefined) this.reveal(best, { focus: true });
  }

  /** Steps whose title or id contains `words` are highlighted; returns them in order. */
  search(words) {
    const hits = matchingSteps(this.store.scene, words);
    this.mark(hits);
    return hits ?? [];
  }

  /** Let `steps` stand out; null for none in particular. */
  mark(steps) {
    this.matches = steps && new Set(steps);
    this.refresh();
  }

  highlight(key) {
    this.highlightedKey = key;
    this.refresh();
  }
}
