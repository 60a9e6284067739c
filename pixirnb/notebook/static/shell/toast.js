// A quiet word at the corner of the page when a run asks a person, ends badly, or ends after a while, and no view of it is in sight.
// It takes no focus and goes by itself.

import { button, h, icon, setText } from "../dom/elements.js";
import { labelOf, workflowNameOf } from "../state/step_names.js";

const TOAST_MS = 12_000;
const LONG_MS = 30_000; // a run that took longer is announced though it is completed

export class Toast {
  constructor(store) {
    this.store = store;
    this.card = null;
    this.onVisibility = () => this.startTimer();
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  onChange(what, detail) {
    const { store } = this;
    if (what === "tape") this.onTape(detail);
    else if (what === "head" && detail.live !== "" && store.head.live === "") this.runEnded();
  }

  /** Steps that changed: one of them may ask now. Looked up at the end of the tape, wherever a view stands. */
  onTape(touched) {
    const { history, vocabulary, scene } = this.store;
    for (const step of touched) {
      const mark = vocabulary.marks[history.stepAt(step, history.length).mark];
      if (mark.key === "needs_orchestrator" || mark.key === "permission") this.ask(step, scene, mark);
    }
  }

  async ask(step, scene, mark) {
    const name = labelOf(scene, step);
    const card = this.show(mark, `${name} is waiting for a person`, step);
    if (!card) return;
    const message = await this.store.ask({ ask: "step", step: scene.ids[step], at: null });
    const asked = message.ok ? message.answer.permissions.find(({ is_open: isOpen }) => isOpen) : null;
    const words = asked ? `permission to use ${asked.name}: ${asked.about}` : message.ok ? message.answer.question?.text : "";
    if (words && this.card === card) setText(card.words, `${name} asks: ${words}`);
  }

  runEnded() {
    const { head, statusMark } = this.store;
    const isAnnounced = this.card !== null && head.status === "needs_orchestrator";
    if (head.status === "completed" && head.elapsed_ms < LONG_MS) return;
    if (!isAnnounced) this.show(statusMark, head.sentence);
  }

  get isInSight() {
    return !document.hidden && [...this.store.views].some((view) => view.isVisible);
  }

  /** Put up a card, in the place of one that is there; null where the run is in sight, or nowhere. */
  show(mark, words, step = -1) {
    if (this.isInSight || !this.store.views.size) return null;
    this.dismiss();
    const text = h("p", {}, words);
    const close = button("×", () => this.dismiss(), { kind: "pixirnb-close" });
    close.setAttribute("aria-label", "Dismiss");
    const root = h(
      "div",
      { class: "pixirnb-view pixirnb-window pixirnb-toast" },
      h(
        "div",
        { class: "pixirnb-top" },
        h("span", { class: `pixirnb-status pixirnb-${mark.tone}` }, icon(mark, 16), mark.word),
        h("span", { class: "pixirnb-flow" }, workflowNameOf(this.store.scene)),
        h("span", { class: "pixirnb-right" }, close),
      ),
      text,
      h("div", { class: "pixirnb-flex-row" }, button("Show", () => this.showRun(step), { kind: "pixirnb-primary" })),
    );
    for (const event of ["pointerenter", "focusin"]) root.addEventListener(event, () => this.setHeld(true));
    for (const event of ["pointerleave", "focusout"]) root.addEventListener(event, () => this.setHeld(false));
    root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.dismiss();
    });
    this.card = { root, words: text };
    toastContainer().append(root);
    this.startTimer();
    return this.card;
  }

  /** Time runs while someone could read it and nobody is about to act on it. */
  startTimer() {
    clearTimeout(this.timer);
    if (!this.card || this.isHeld || document.hidden) return;
    this.timer = setTimeout(() => this.dismiss(), TOAST_MS);
  }

  setHeld(isHeld) {
    this.isHeld = isHeld;
    this.startTimer();
  }

  showRun(step) {
    const views = [...this.store.views].filter((view) => view.root.isConnected);
    const view = views.find((each) => each.root.offsetParent !== null) ?? views[0];
    this.dismiss();
    if (!view) return;
    if (step >= 0) this.store.choose(step);
    view.root.tabIndex = -1;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    view.root.scrollIntoView({ block: "center", behavior: isCalm ? "auto" : "smooth" });
    view.root.focus({ preventScroll: true });
  }

  dismiss() {
    clearTimeout(this.timer);
    this.card?.root.remove();
    this.card = null;
    this.isHeld = false;
  }

  dispose() {
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.dismiss();
  }
}

/** Where the notices of all runs of a page stand, one above the other; a live region that was there before its words. */
function toastContainer() {
  let container = [...document.body.children].find((child) => child.classList.contains("pixirnb-toast-container"));
  if (!container) {
    container = h("div", { class: "pixirnb-toast-container", role: "status", "aria-live": "polite" });
    document.body.append(container);
  }
  // JupyterLab's own notices stand there too: ours go above them.
  const tops = [...document.querySelectorAll(".Toastify__toast")].map((toast) => toast.getBoundingClientRect().top);
  const floor = Math.min(innerHeight, ...tops);
  container.style.bottom = floor < innerHeight ? `${innerHeight - floor + 10}px` : "";
  return container;
}
