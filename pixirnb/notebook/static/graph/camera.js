// Where one looks at the graph: a shift and a scale. Drag, swipe sideways, or Shift and the wheel to pan; pinch with two fingers,
// or Ctrl and the wheel, to zoom; keys and buttons for both.

import { zoomOnWheel } from "../dom/elements.js";

const MIN_SCALE = 0.03;
const MAX_SCALE = 2.5;

export class Camera {
  constructor(frame, onMove) {
    this.frame = frame; // the element that shows a part of the sheet
    this.onMove = onMove;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.isUserSet = false; // whether the person has chosen where to look
    this.sheet = { width: 1, height: 1 };
    this.fingers = new Map(); // pointer -> where it is, of those that are down
    zoomOnWheel(frame, (factor, point) => this.zoom(factor, point), (event) => this.panAcross(event));
    frame.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    // Two fingers zoom the graph; with one, up and down scrolls the page.
    frame.addEventListener("touchmove", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
  }

  /** The part of the sheet that is seen: `[left, top, right, bottom]` in the sheet's pixels. */
  viewport() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    return [-this.x / this.scale, -this.y / this.scale, (width - this.x) / this.scale, (height - this.y) / this.scale];
  }

  set(x, y, scale) {
    const clampedScale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
    [this.x, this.y, this.scale] = [...this.clamped(x, y, clampedScale), clampedScale];
    this.onMove();
  }

  /** At least a corner of the sheet stays in sight. A smaller one stands in the middle, and at the top: a frame may grow. */
  clamped(x, y, scale) {
    const clamp = (shift, room, size, rest) =>
      size <= room ? rest(room - size) : Math.min(40, Math.max(room - size - 40, shift));
    return [
      clamp(x, this.frame.clientWidth, this.sheet.width * scale, (free) => free / 2),
      clamp(y, this.frame.clientHeight, this.sheet.height * scale, (free) => Math.min(free / 2, 10)),
    ];
  }

  /** As large as can be read, and the whole if it can be; never larger than drawn. Returns the scale. */
  reset(sheet, tallest) {
    this.sheet = sheet;
    this.isUserSet = false;
    const across = this.frame.clientWidth / sheet.width;
    const whole = Math.min(1, across, tallest / sheet.height);
    this.scale = whole >= 0.6 ? whole : Math.min(1, Math.max(0.75, across));
    return this.scale;
  }

  fitting() {
    return Math.min(this.frame.clientWidth / this.sheet.width, this.frame.clientHeight / this.sheet.height);
  }

  fit() {
    this.isUserSet = true;
    this.set(0, 0, Math.min(1, this.fitting()));
  }

  /** Zoom about a point of the frame; by default its middle. */
  zoom(factor, at = [this.frame.clientWidth / 2, this.frame.clientHeight / 2]) {
    this.isUserSet = true;
    const next = Math.min(MAX_SCALE, Math.max(MIN_SCALE, this.scale * factor));
    const grown = next / this.scale;
    this.set(at[0] - (at[0] - this.x) * grown, at[1] - (at[1] - this.y) * grown, next);
  }

  /** Bring a box into sight with the least movement; `close`: into the middle, and large enough to read. */
  reveal(x, y, width, height, { close = false } = {}) {
    const scale = close ? Math.max(this.scale, 0.8) : this.scale;
    const [roomX, roomY] = [this.frame.clientWidth, this.frame.clientHeight];
    const shift = (now, start, size, room) => {
      const [from, to] = [now + start * scale, now + (start + size) * scale];
      if (from >= 12 && to <= room - 12 && scale === this.scale) return now;
      return !close && size * scale < room - 24
        ? now + (from < 12 ? 12 - from : room - 12 - to)
        : room / 2 - (start + size / 2) * scale;
    };
    const [left, top] = [shift(this.x, x, width, roomX), shift(this.y, y, height, roomY)];
    if (left === this.x && top === this.y && scale === this.scale) return;
    this.isUserSet = true;
    this.set(left, top, scale);
  }

  /** Sideways it pans a graph that is wider than its frame; up and down it scrolls the page. */
  panAcross(event) {
    const across = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    const isAcross = event.shiftKey || Math.abs(across) > Math.abs(event.deltaY);
    if (!across || !isAcross || this.sheet.width * this.scale <= this.frame.clientWidth) return;
    event.preventDefault();
    this.isUserSet = true;
    this.set(this.x - across, this.y, this.scale);
  }

  onPointerDown(event) {
    if (event.button !== 0) return;
    const { fingers, frame } = this;
    if (event.isPrimary) fingers.clear(); // the end of the gesture before may never have been heard
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size > 1) return;
    this.gesture?.abort();
    this.gesture = new AbortController();
    let isMoving = false;
    const move = (moved) => {
      const from = fingers.get(moved.pointerId);
      const to = [moved.clientX, moved.clientY];
      if (!from || (!isMoving && Math.hypot(to[0] - from[0], to[1] - from[1]) < 4)) return;
      if (!isMoving) frame.setPointerCapture(moved.pointerId);
      isMoving = this.isUserSet = true;
      frame.classList.add("pixirnb-grabbed");
      const other = [...fingers].find(([finger]) => finger !== moved.pointerId)?.[1];
      if (other) this.pinch(from, to, other);
      else this.set(this.x + to[0] - from[0], this.y + to[1] - from[1], this.scale);
      fingers.set(moved.pointerId, to);
    };
    const drop = (gone) => {
      fingers.delete(gone.pointerId);
      if (fingers.size) return;
      this.gesture.abort();
      frame.classList.remove("pixirnb-grabbed");
      if (!isMoving) return;
      // A drag that ends over a step is no click on it; the click, if one comes, comes before any timer.
      const stopClick = (click) => click.stopPropagation();
      frame.addEventListener("click", stopClick, { capture: true });
      setTimeout(() => frame.removeEventListener("click", stopClick, { capture: true }), 0);
    };
    for (const [name, listener] of [["pointermove", move], ["pointerup", drop], ["pointercancel", drop]]) frame.addEventListener(name, listener, { signal: this.gesture.signal });
  }

  /** One of two fingers moves: what lies between them stays between them. */
  pinch(from, to, other) {
    const { left, top } = this.frame.getBoundingClientRect();
    const middle = (point) => [(point[0] + other[0]) / 2 - left, (point[1] + other[1]) / 2 - top];
    const spread = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
    const [before, after] = [middle(from), middle(to)];
    this.set(this.x + after[0] - before[0], this.y + after[1] - before[1], this.scale);
    this.zoom(spread(to) / spread(from), after);
  }
}
