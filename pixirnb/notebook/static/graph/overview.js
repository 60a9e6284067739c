// What lies beyond the frame: how many steps on each side, with a button that goes there; and the whole graph, small, where it
// takes more than a screen.

import { button, h, setText } from "../dom/elements.js";
import { stepsAt } from "./stacks.js";

const MAP_SIZE = [150, 84]; // the most that the small graph takes
const MIN_SCREENS = 1.5; // screens from which on there is a small graph
const PAINT_MS = 300;
const SIDES = {
  left: { arrow: "←", where: "to the left", move: [-1, 0] },
  right: { arrow: "→", where: "to the right", move: [1, 0] },
  above: { arrow: "↑", where: "above", move: [0, -1] },
  below: { arrow: "↓", where: "below", move: [0, 1] },
};

/** How many steps lie wholly outside of `[left, top, right, bottom]`, by side. `weightOf` counts a box that stands for several. */
export function countBeyond(positions, height, [left, top, right, bottom], weightOf = () => 1) {
  const beyond = { left: 0, right: 0, above: 0, below: 0 };
  for (const [step, [x, y, width]] of positions) {
    const weight = weightOf(step);
    if (x + width <= left) beyond.left += weight;
    else if (x >= right) beyond.right += weight;
    if (y + height <= top) beyond.above += weight;
    else if (y >= bottom) beyond.below += weight;
  }
  return beyond;
}

export class Overview {
  constructor(graph) {
    this.graph = graph;
    this.sides = Object.fromEntries(Object.entries(SIDES).map(([side, { move }]) => [side, button("", () => this.go(...move), { kind: `pixirnb-beyond pixirnb-${side}` })]));
    this.canvas = h("canvas", {});
    this.seen = h("div", { class: "pixirnb-seen" });
    this.map = h("div", { class: "pixirnb-map", "aria-hidden": "true", hidden: true, on: { pointerdown: (event) => this.onDown(event) } }, this.canvas, this.seen);
    const ours = (event) => event.stopPropagation(); // neither a drag nor a click of the graph beneath
    this.root = h("div", { class: "pixirnb-overview", on: { pointerdown: ours, click: ours } }, Object.values(this.sides), this.map);
  }

  /** The camera has moved. */
  follow() {
    const { camera, positions, sheet } = this.graph;
    const viewport = camera.viewport();
    const beyond = countBeyond(positions, sheet.box[1], viewport, (box) => stepsAt(sheet, box).filter((step) => step === box || !positions.has(step)).length);
    for (const [side, { arrow, where }] of Object.entries(SIDES)) {
      const control = this.sides[side];
      control.hidden = !beyond[side];
      if (!beyond[side]) continue;
      const count = beyond[side].toLocaleString("en-US");
      setText(control, side === "right" ? `${count} more ${arrow}` : `${arrow} ${count} more`);
      control.setAttribute("aria-label", `${count} more ${beyond[side] === 1 ? "step" : "steps"} ${where}`);
    }
    this.showWindow(viewport);
  }

  showWindow([left, top, right, bottom]) {
    const { sheet } = this.graph;
    const isLarge = Math.max(sheet.width / (right - left), sheet.height / (bottom - top)) >= MIN_SCREENS;
    this.map.hidden = !isLarge;
    if (!isLarge) return;
    const scale = Math.min(MAP_SIZE[0] / sheet.width, MAP_SIZE[1] / sheet.height);
    if (scale !== this.scale) {
      this.scale = scale;
      this.schedule();
    }
    const [from, upto] = [[Math.max(0, left), Math.max(0, top)], [Math.min(sheet.width, right), Math.min(sheet.height, bottom)]];
    Object.assign(this.seen.style, {
      left: `${from[0] * scale}px`,
      top: `${from[1] * scale}px`,
      width: `${Math.max(4, (upto[0] - from[0]) * scale)}px`,
      height: `${Math.max(4, (upto[1] - from[1]) * scale)}px`,
    });
  }

  /** Steps look different: the small graph is painted soon, once for all of them. */
  schedule() {
    if (this.map.hidden) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.paint();
    }, PAINT_MS);
  }

  paint() {
    const { frame, positions, sheet, store } = this.graph;
    const density = window.devicePixelRatio || 1;
    const [width, height] = [sheet.width, sheet.height].map((size) => Math.max(10, Math.ceil(size * this.scale)));
    Object.assign(this.canvas, { width: width * density, height: height * density });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(frame);
    const steps = new Map(); // tone -> its steps
    for (const step of positions.keys()) {
      const tones = stepsAt(sheet, step).map((each) => store.markAt(each).tone);
      const tone = tones.includes("bad") ? "bad" : tones[0];
      if (!steps.has(tone)) steps.set(tone, []);
      steps.get(tone).push(step);
    }
    context.scale(density, density);
    const sized = (length) => Math.max(1.5, length * this.scale);
    // What went wrong is painted last, over what is crowded.
    for (const tone of [...steps.keys()].sort((one, other) => (one === "bad") - (other === "bad"))) {
      context.fillStyle = style.getPropertyValue(`--px-${tone}`).trim() || "#777";
      for (const [x, y, width] of steps.get(tone).map((step) => positions.get(step))) context.fillRect(x * this.scale, y * this.scale, sized(width), sized(sheet.box[1]));
    }
  }

  /** One screen on, with a little of what was seen. */
  go(right, down) {
    const { camera } = this.graph;
    camera.isUserSet = true;
    camera.set(camera.x - right * camera.frame.clientWidth * 0.8, camera.y - down * camera.frame.clientHeight * 0.8, camera.scale);
  }

  /** The middle of what is seen goes where the pointer is. */
  onDown(event) {
    event.preventDefault();
    const { camera } = this.graph;
    const drag = new AbortController();
    const move = ({ clientX, clientY }) => {
      const { left, top } = this.map.getBoundingClientRect();
      const at = [(clientX - left) / this.scale, (clientY - top) / this.scale];
      camera.isUserSet = true;
      camera.set(camera.frame.clientWidth / 2 - at[0] * camera.scale, camera.frame.clientHeight / 2 - at[1] * camera.scale, camera.scale);
    };
    move(event);
    this.map.setPointerCapture(event.pointerId);
    this.map.addEventListener("pointermove", move, { signal: drag.signal });
    for (const end of ["pointerup", "pointercancel"]) this.map.addEventListener(end, () => drag.abort(), { signal: drag.signal });
  }
}
