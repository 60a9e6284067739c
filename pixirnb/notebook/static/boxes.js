// What stands in the box of a step, near and far. Coordinates are those of the saved picture.

/** A step that can be read: mark, name, attempts; kind, what is odd, time; how far it says it is. */
function nearBox(graph, step, mark, look, small) {
  const [width, height] = graph.sheet.box;
  const tries = look.attempt > 1 ? `×${look.attempt}` : "";
  const name = fitted(graph.stage.scene.ids[step], width - 36 - widthOf(tries, 10.5) * 1.7, 12.9);
  const kind = graph.stage.look.kinds[graph.stage.scene.kinds[step]];
  const room = width - 36 - (kind ? 14 : 0) - (small.right ? widthOf(small.right, 10.5) + 6 : 0);
  const isOdd = small.left !== graph.stage.scene.kinds[step];
  const left = isOdd || !kind ? fitted(small.left, room, 10.5) : widthOf(small.left, 10.5) <= room ? small.left : "";
  return [
    s("title", {}, graph.told(step, mark, look, small)),
    graph.into[step].length ? s("path", { class: "pixirnb-head", d: `M0 ${height / 2}l-6 -3.4v6.8z` }) : null,
    s("rect", { class: "pixirnb-box", width, height, rx: 7 }),
    mark.tone === "idle" ? null : s("rect", { class: "pixirnb-tint", width, height, rx: 7 }),
    s("g", { class: `pixirnb-${mark.tone} pixirnb-mark`, transform: `translate(8 ${height / 2 - 8})` }, shapeOf(mark.shape)),
    s("text", { class: "pixirnb-name", x: 30, y: 16 }, name),
    tries ? s("text", { class: "pixirnb-small", x: width - 8, y: 16, "text-anchor": "end" }, tries) : null,
    kind ? s("g", { class: "pixirnb-mute", transform: "translate(30 23) scale(0.625)" }, shapeOf(kind)) : null,
    s("text", { class: "pixirnb-small", x: kind ? 44 : 30, y: 31 }, left),
    small.right ? s("text", { class: "pixirnb-small", x: width - 8, y: 31, "text-anchor": "end" }, small.right) : null,
    small.fraction === null
      ? null
      : s("rect", { class: "pixirnb-progress", x: 4, y: height - 3, width: Math.max(0, Math.min(1, small.fraction)) * (width - 8), height: 2.4, rx: 1.2 }),
  ];
}

/** A step too small to be read: its shape and its tone. */
function farBox([width, height], mark) {
  const size = height - 6;
  return [
    s("rect", { class: "pixirnb-box", width, height, rx: 7 }),
    s("rect", { class: mark.tone === "idle" ? "pixirnb-blank" : "pixirnb-tint", width, height, rx: 7 }),
    s("g", { class: `pixirnb-${mark.tone}`, transform: `translate(${(width - size) / 2} 3) scale(${size / 16})` }, shapeOf(mark.shape)),
  ];
}

// What tells the statuses apart when a box is a few pixels: its outline, not only its tone. In a 4 × 4 box.
const OUTLINES = {
  checkpoint_ready: "M0 0h4v4h-4z",
  running: "M0 0h4v4h-4z M1 1v2h2v-2z",
  failed: "M0 0h1.2l.8 1.2.8-1.2h1.2l-1.3 2 1.3 2h-1.2l-.8-1.2-.8 1.2h-1.2l1.3-2z",
  timed_out: "M0 0h4l-2 2 2 2h-4l2-2z",
  partial: "M0 0h2v4h-2z",
  needs_orchestrator: "M2 0l2 2-2 2-2-2z",
  held: "M.4 0h1.1v4h-1.1z M2.5 0h1.1v4h-1.1z",
};
const SPECK = "M1.4 1.6h1.2v.8h-1.2z"; // nothing has happened here yet, or nothing that counts

/** A step of thousands in sight: an outline of its own for each status. */
function silhouette([width, height], mark) {
  const d = OUTLINES[mark.key] ?? (mark.tone === "idle" ? SPECK : OUTLINES.partial);
  return s("path", { class: "pixirnb-dust", d, transform: `scale(${width / 4} ${height / 4})`, "fill-rule": "evenodd" });
}
