// One view of a run in one output: head, graph or timeline, the replay right below it, and the panel beneath. It redraws at most
// once a frame.

import { button, h, setStyle } from "../dom/elements.js";
import { Graph } from "../graph/graph.js";
import { Panel } from "../panel/panel.js";
import { workflowNameOf } from "../state/step_names.js";
import { Replay } from "../timeline/replay.js";
import { Timeline } from "../timeline/timeline.js";
import { viewStore } from "../state/view_store.js";
import { Controls } from "./controls.js";
import { Toolbar } from "./toolbar.js";

const PRESSABLE = "button, summary, [role=button]";

export class View {
  constructor(store, host) {
    this.store = viewStore(store, (what) => this.onChange(what));
    this.pending = new Set();
    this.touched = new Set();
    this.touchedItems = new Set();
    this.controls = new Controls(this);
    this.graph = new Graph(this.store);
    this.timeline = new Timeline(this);
    this.panel = new Panel(this);
    this.toolbar = new Toolbar(this);
    this.replay = new Replay(this, this.toolbar.root);
    this.unpin = button("Show the run now", () => this.toggleNow(), { kind: "pixirnb-unpin pixirnb-slight", pressed: false });
    this.root = h(
      "div", // the rules of the saved cards are for one
      { class: "pixirnb-view pixirnb-window", role: "region", "aria-label": `Run ${store.scene.run_id} of ${workflowNameOf(store.scene)}` },
      this.unpin,
      this.controls.root,
      this.graph.frame,
      this.timeline.root,
      this.replay.root,
      this.panel.root,
    );
    // Keys typed here are not the notebook's: "d d" in a field must not delete the cell.
    this.root.addEventListener("keydown", (event) => event.stopPropagation());
    this.root.addEventListener("pointerdown", (event) => event.button === 0 && event.target.closest(PRESSABLE) && this.hold());
    host.append(this.root);
    this.resizeObserver = new ResizeObserver(() => {
      this.onResize();
      if (this.pending.size) this.onChange("shown");
    });
    this.resizeObserver.observe(this.root);
    this.isVisible = true;
    this.visibilityObserver = new IntersectionObserver((seen) => {
      this.isVisible = seen.at(-1).isIntersecting;
      if (this.isVisible) store.toast?.dismiss();
    });
    this.visibilityObserver.observe(this.root);
    this.clock = setInterval(() => {
      store.checkKernel();
      this.onChange("clock");
    }, 1000);
    store.views.add(this);
    this.onChange("reset");
  }

  showTab(tab) {
    this.store.tab = tab;
    this.onChange("tab");
  }

  get tab() {
    return this.store.tab;
  }

  /** Something changed: it is drawn with the next frame. */
  onChange(what, detail) {
    this.pending.add(what);
    if (what === "position" && !detail) this.pending.add("jump"); // to the past or from it: anything may look different
    if (what === "tape" || what === "position") {
      const { items } = this.store.scene;
      for (const step of detail ?? []) (items.isItem(step) ? this.touchedItems : this.touched).add(step);
    }
    this.frameRequest ??= requestAnimationFrame(() => {
      this.frameRequest = null;
      // A front-end may take an output off the page, to bring it back or for good, and not say so: it is drawn when it is back.
      if (this.root.isConnected && !this.isPressed) this.draw();
    });
  }

  /** While a button is pressed nothing is drawn: a click on an element that was replaced since is lost. */
  hold() {
    this.isPressed = true;
    const press = new AbortController();
    const release = () => {
      press.abort();
      this.isPressed = false;
      if (this.pending.size) this.onChange("shown");
    };
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, release, { capture: true, signal: press.signal });
  }

  /** Whether the picture above keeps what ran while this output was the last: it stays in sight, and the run of now is a click away. */
  get isPinned() {
    const picture = this.root.closest(".jp-OutputArea-child")?.previousElementSibling;
    return Boolean(picture?.querySelector(".pixirnb-pinned"));
  }

  toggleNow() {
    this.isNow = !this.isNow;
    this.unpin.setAttribute("aria-pressed", String(this.isNow));
    this.onChange("reset");
  }

  draw() {
    const { isPinned } = this;
    this.unpin.hidden = !isPinned;
    this.root.classList.toggle("pixirnb-pinned-view", isPinned && !this.isNow);
    if (isPinned && !this.isNow) return;
    const { pending, touched, touchedItems } = this;
    this.pending = new Set();
    this.touched = new Set();
    this.touchedItems = new Set();
    const counted = new Set([...touchedItems].map((item) => this.store.boxOf(item))); // steps whose items look different
    const has = (...names) => names.some((name) => pending.has(name));
    if (has("sheet")) this.store.camera = null;
    if (has("reset", "sheet")) {
      this.graph.setSheet();
      this.isOpen = false;
    }
    const isGraph = this.tab === "graph";
    this.graph.frame.hidden = !isGraph;
    this.timeline.root.hidden = isGraph;
    this.root.classList.toggle("pixirnb-past", this.store.isPast);
    this.onResize();
    if (this.wasLive && !this.store.isLive) this.showAttended();
    this.wasLive = this.store.isLive;
    const { isHeld } = this.replay.strip;
    if (isHeld !== this.isHeld) {
      this.isHeld = isHeld; // what is above the strip keeps its height, so that it does not move under the hand
      setStyle(this.controls.root, "min-height", isHeld ? `${this.controls.root.offsetHeight}px` : "");
    }
    if (isGraph && this.graph.isMoving !== this.replay.isMoving) {
      this.graph.isMoving = this.replay.isMoving;
      this.graph.updateVisible();
    }
    if (has("reset", "jump", "head", "chosen", "sheet", "tab")) this.graph.refresh();
    else if ((touched.size || counted.size) && (has("position") || !this.store.isPast)) this.graph.refresh(new Set([...touched, ...counted]));
    if (has("pulse", "clock", "moment", "position")) this.graph.tick();
    if (has("reset", "chosen", "sheet", "tab")) this.graph.drawConflicts();
    const change = { has, touched, touchedItems, counted };
    this.controls.draw(change);
    this.toolbar.draw(change);
    if (!isGraph) this.timeline.draw(change);
    this.panel.draw(change);
    this.replay.draw(change);
  }

  onResize() {
    const width = this.graph.frame.clientWidth;
    if (!width || this.graph.frame.hidden) return;
    if (!this.isOpen) {
      this.isOpen = true;
      this.graph.resetCamera();
      this.showAttended();
    } else if (width !== this.width) {
      this.graph.resetCamera();
    }
    this.width = width;
  }

  /** A large graph of a run at rest opens at what needs a person, or failed: its beginning is green in most. */
  showAttended() {
    const [step] = this.store.isLive || this.store.camera ? [] : this.controls.attention.steps();
    if (step !== undefined) this.graph.reveal(step, { close: true });
  }

  takeFocus() {
    this.root.tabIndex = -1;
    this.root.focus({ preventScroll: true });
  }

  dispose() {
    this.store.views.delete(this);
    clearInterval(this.clock);
    if (this.frameRequest) cancelAnimationFrame(this.frameRequest);
    this.resizeObserver.disconnect();
    this.visibilityObserver.disconnect();
    this.panel.dispose();
    this.root.remove();
    this.store.leave();
  }
}
