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
    s("title", {}, toldOf(graph.stage, step, mark, look, small)),
    graph.into[step].length ? s("path", { class: "pixirnb-head", d: `M0 ${height / 2}l-6 -3.4v6.8z` }) : null,
    graph.stage.scene.isolated[step] ? s("rect", { class: "pixirnb-copy", x: 3, y: 3, width, height, rx: 7 }) : null,
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

/** The second line of a box: kind or what is odd on the left, time on the right. */
function secondLine(stage, step, mark, look) {
  const kind = stage.scene.kinds[step];
  if (mark.key === "permission") return { left: "asks a person", right: "", fraction: null, isStalled: false };
  if (mark.key !== "running") return { left: kind, right: spanOf(look.elapsed), fraction: null, isStalled: false };
  const now = stage.moment;
  const right = clockOf(now - stage.story.beganAt(look));
  const sign = stage.signOf(step);
  const quiet = sign ? now - sign[5] : 0;
  const isStalled = Boolean(sign?.[2]);
  const left = isStalled ? `stalled ${clockOf(quiet)}` : quiet >= 5000 ? `quiet ${clockOf(quiet)}` : kind;
  return { left, right, fraction: sign?.[3] ?? null, isStalled, note: sign?.[4] ?? "" };
}

/** A box in words, for a pointer that rests on it and for readers. */
function toldOf({ scene }, step, mark, look, small) {
  const holder = look.holder >= 0 ? `, held by ${scene.ids[look.holder]}` : "";
  const parts = [`${scene.ids[step]}: ${mark.word}${holder}`, `${scene.kinds[step]} step${scene.isolated[step] ? " in a copy of your files" : ""}`];
  if (look.attempt > 1) parts.push(`attempt ${look.attempt}`);
  if (small.right) parts.push(small.right);
  if (small.left !== scene.kinds[step]) parts.push(small.left);
  if (small.fraction !== null) parts.push(`${Math.round(small.fraction * 100)} %`);
  if (small.note) parts.push(small.note);
  return parts.join(", ");
}
