// Thousands of steps in sight: painted, not built. A browser paints a whole picture anew when one of its boxes changes, and a
// picture of five thousand takes it a third of a second; a canvas takes a few milliseconds.

import { h } from "../dom/elements.js";

// What tells the statuses apart when a box is a few pixels: its outline, not only its tone. In a 4 × 4 box.
export const OUTLINES = {
  checkpoint_ready: "M0 0h4v4h-4z",
  running: "M0 0h4v4h-4z M1 1v2h2v-2z",
  failed: "M0 0h1.2l.8 1.2.8-1.2h1.2l-1.3 2 1.3 2h-1.2l-.8-1.2-.8 1.2h-1.2l1.3-2z",
  timed_out: "M0 0h4l-2 2 2 2h-4l2-2z",
  partial: "M0 0h2v4h-2z",
  needs_orchestrator: "M2 0l2 2-2 2-2-2z",
  decided: "M2 0l2 2-2 2-2-2z",
  permission: "M2 0l2 2-2 2-2-2z M2 1.2l-.8.8.8.8.8-.8z",
  held: "M.4 0h1.1v4h-1.1z M2.5 0h1.1v4h-1.1z",
  skipped: "M0 0h1l1 2-1 2h-1l1-2z M2 0h1l1 2-1 2h-1l1-2z",
  idle: "M1.4 1.6h1.2v.8h-1.2z", // nothing has happened here yet, or nothing that counts
};

export class CanvasRenderer {
  constructor(graph) {
    this.graph = graph;
    this.canvas = h("canvas", { class: "pixirnb-graph", "aria-hidden": "true", hidden: true });
    this.paths = Object.fromEntries(Object.entries(OUTLINES).map(([key, outline]) => [key, new Path2D(outline)]));
  }

  hide() {
    this.canvas.hidden = true;
  }

  /** Paint every step in sight as it looks now. */
  paint(inSight) {
    const { graph } = this;
    const { frame, camera, store, sheet } = graph;
    const density = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(frame.clientWidth * density), Math.round(frame.clientHeight * density)];
    this.canvas.hidden = false;
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(frame);
    const colors = new Map();
    const colorOf = (tone) => {
      if (!colors.has(tone)) colors.set(tone, style.getPropertyValue(`--px-${tone}`).trim() || "#777");
      return colors.get(tone);
    };
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    const zoom = camera.scale * density;
    const down = (sheet.box[1] / 4) * zoom;
    for (const step of inSight) {
      const [x, y, width] = graph.positions.get(step);
      const mark = step >= 0 ? store.markAt(step) : store.vocabulary.marks[store.markOf.queued];
      context.setTransform((width / 4) * zoom, 0, 0, down, camera.x * density + x * zoom, camera.y * density + y * zoom);
      context.fillStyle = colorOf(mark.tone);
      context.globalAlpha = graph.isDim(step, mark) ? 0.2 : 1;
      if (mark.key === "checkpoint_ready") context.fillRect(0, 0, 4, 4);
      else context.fill(this.paths[mark.key] ?? (mark.tone === "idle" ? this.paths.idle : this.paths.partial), "evenodd");
      if (step === store.chosenBox) {
        context.lineWidth = 1;
        context.strokeStyle = colorOf("fg");
        context.strokeRect(-1, -1, 6, 6);
      }
    }
  }
  /** The painted step beneath the pointer. */
  stepAt({ clientX, clientY }) {
    const { camera, frame, inSight, positions, sheet } = this.graph;
    const { left, top } = frame.getBoundingClientRect();
    const [u, v] = [(clientX - left - camera.x) / camera.scale, (clientY - top - camera.y) / camera.scale];
    return inSight.find((step) => {
      const [x, y, width] = positions.get(step);
      return u >= x && u <= x + width && v >= y && v <= y + sheet.box[1];
    });
  }
}
