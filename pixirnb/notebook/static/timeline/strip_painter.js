// The picture of the strip: each bar in the tone of its status and with the pattern that it has in the timeline. A canvas: a thousand
// bars are painted in a few milliseconds, and then only a line is moved over them.

const MAX_LANE = 10; // px
const MIN_PATTERN = 4; // px: lower, a pattern is noise
const PATTERNS = {
  failed: hatch,
  cancelled: hatch,
  timed_out: stripes,
  detached: stripes,
  partial: lowerHalf,
  interrupted: lowerHalf,
  lost: lowerHalf,
  needs_orchestrator: dots,
};

/** Where the lanes of a strip are, in the height it has: `[top, height]` of lane 0. Where there are more than pixels, some share one. */
export function laneBox(lanes, height) {
  const pitch = Math.min(MAX_LANE, height / Math.max(1, lanes));
  return [(height - pitch * lanes) / 2, pitch];
}

/** Paint bars with `x`, `width`, `lane`, `mark`, `isOpen` and `kind`; and the gaps between courses, as `[x, width]`. */
export function paintStrip(canvas, { width, height, bars, lanes, gaps, colorOf }) {
  const density = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * density), Math.round(height * density)];
  const context = canvas.getContext("2d");
  context.scale(density, density);
  context.fillStyle = colorOf("band");
  context.fillRect(0, 0, width, height);
  context.strokeStyle = colorOf("edge");
  for (const [x, across] of gaps) {
    context.clearRect(x, 0, across, height);
    hatch(context, x, 0, across, height);
  }
  const [top, pitch] = laneBox(lanes, height);
  const high = Math.max(1, pitch - (pitch >= MIN_PATTERN ? 1 : 0));
  // What went wrong, or asks, is seen where lanes share a pixel.
  const painted = [...bars].sort((one, other) => weightOf(one.mark) - weightOf(other.mark));
  for (const { x, width: across, lane, mark, isOpen, kind } of painted) {
    const y = top + lane * pitch;
    context.fillStyle = context.strokeStyle = colorOf(kind === "delay" ? "edge" : mark.tone);
    if (high < MIN_PATTERN) {
      context.globalAlpha = kind === "delay" ? 0.4 : 0.8;
      context.fillRect(x, y, across, high);
      continue;
    }
    context.globalAlpha = kind === "delay" ? 0.1 : 0.3;
    context.fillRect(x, y, across, high);
    context.globalAlpha = 0.9;
    (kind === "delay" ? hatch : PATTERNS[mark.key])?.(context, x, y, across, high);
    context.globalAlpha = 1;
    outline(context, x, y, across, high, isOpen || kind === "delay");
  }
  context.globalAlpha = 1;
}

function weightOf({ tone }) {
  return ["bad", "late", "half"].includes(tone) ? 2 : tone === "ask" ? 1 : 0;
}

function outline(context, x, y, width, height, isDashed) {
  context.lineWidth = 1;
  context.setLineDash(isDashed ? [2, 2] : []);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), height - 1);
  context.setLineDash([]);
}

/** Let `draw` stroke within a bar only. */
function within(context, x, y, width, height, draw) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  draw();
  context.stroke();
  context.restore();
}

function hatch(context, x, y, width, height) {
  context.lineWidth = 1.5;
  within(context, x, y, width, height, () => {
    for (let at = x - height; at < x + width; at += 5) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
  });
}

function stripes(context, x, y, width, height) {
  context.lineWidth = 2;
  within(context, x, y, width, height, () => {
    for (let at = x + 1; at < x + width; at += 6) {
      context.moveTo(at, y);
      context.lineTo(at, y + height);
    }
  });
}

function lowerHalf(context, x, y, width, height) {
  context.fillRect(x, y + height / 2, width, height / 2);
}

function dots(context, x, y, width, height) {
  for (let at = x + 3; at < x + width - 1; at += 5) context.fillRect(at - 1, y + height / 2 - 1, 2, 2);
}
