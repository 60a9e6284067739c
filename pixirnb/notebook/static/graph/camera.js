// Where one looks at the graph: a shift and a scale. Drag, swipe sideways, or Shift and the wheel to pan; pinch, or Ctrl and the
// wheel, to zoom; keys and buttons for both.

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
    zoomOnWheel(frame, (factor, point) => this.zoom(factor, point), (event) => this.panAcross(event));
    frame.addEventListener("pointerdown", (event) => this.onPointerDown(event));
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

  /** Bring a box into sight, with the least movement. */
  reveal(x, y, width, height, { close = false } = {}) {
    const scale = close ? Math.max(this.scale, 0.8) : this.scale;
    const [roomX, roomY] = [this.frame.clientWidth, this.frame.clientHeight];
    const shift = (now, start, size, room) => {
      const [from, to] = [now + start * scale, now + (start + size) * scale];
      if (from >= 12 && to <= room - 12 && scale === this.scale) return now;
      return scale === this.scale && size * scale < room - 24
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
    const [fromX, fromY] = [event.clientX - this.x, event.clientY - this.y];
    let isMoving = false;
    const move = (moved) => {
      const [x, y] = [moved.clientX - fromX, moved.clientY - fromY];
      if (!isMoving && Math.hypot(x - this.x, y - this.y) < 4) return;
      if (!isMoving) this.frame.setPointerCapture(event.pointerId);
      isMoving = this.isUserSet = true;
      this.frame.classList.add("pixirnb-grabbed");
      this.set(x, y, this.scale);
    };
    const drag = new AbortController();
    const drop = () => {
      drag.abort();
      this.frame.classList.remove("pixirnb-grabbed");
      if (!isMoving) return;
      // A drag that ends over a step is no click on it; the click, if one comes, comes before any timer.
      const stopClick = (click) => click.stopPropagation();
      this.frame.addEventListener("click", stopClick, { capture: true });
      setTimeout(() => this.frame.removeEventListener("click", stopClick, { capture: true }), 0);
    };
    for (const [event, listener] of [["pointermove", move], ["pointerup", drop], ["pointercancel", drop]]) this.frame.addEventListener(event, listener, { signal: drag.signal });
  }
}
