// The edge of the panel that is dragged, or moved with the arrow keys, to make it wider or narrower.

const [LEAST_WIDTH, MOST_WIDTH] = [260, 720];

function gripOf({ stage, view, root }) {
  const grip = h("div", {
    class: "pixirnb-grip",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the panel",
    "aria-valuemin": LEAST_WIDTH,
    "aria-valuemax": MOST_WIDTH,
    title: "Drag to make the panel wider or narrower",
  });
  const set = (width) => {
    stage.panelWidth = Math.round(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width)));
    root.style.setProperty("--px-panel", `${stage.panelWidth}px`);
    grip.setAttribute("aria-valuenow", String(stage.panelWidth));
    view.hear("panel");
  };
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const [from, width] = [event.clientX, root.offsetWidth];
    const move = (moved) => set(width + from - moved.clientX);
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), { once: true });
  });
  grip.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(root.offsetWidth + step);
  });
  return grip;
}
