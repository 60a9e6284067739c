// The edge of the panel that is dragged, or moved with the arrow keys, to make it wider or narrower.

import { h } from "../dom/elements.js";

const [MIN_WIDTH, MAX_WIDTH] = [260, 720];

export function resizeHandle({ store, view, root }) {
  const handle = h("div", {
    class: "pixirnb-resize-handle",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Panel width",
    "aria-valuemin": MIN_WIDTH,
    "aria-valuemax": MAX_WIDTH,
    title: "Drag to resize the panel",
  });
  const set = (width) => {
    store.panelWidth = Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
    root.style.setProperty("--px-panel", `${store.panelWidth}px`);
    handle.setAttribute("aria-valuenow", String(store.panelWidth));
    view.onChange("panel");
  };
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const [from, width] = [event.clientX, root.offsetWidth];
    const move = (moved) => set(width + from - moved.clientX);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), { once: true });
  });
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(root.offsetWidth + step);
  });
  return handle;
}
