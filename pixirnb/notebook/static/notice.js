// A quiet word at the corner of the page when a run ends, or asks a person, while no view of it is in sight. It takes no focus and
// goes by itself.

const STAYS_MS = 12_000;

class Notice {
  constructor(stage) {
    this.stage = stage;
    this.card = null;
    this.look = () => this.count();
    document.addEventListener("visibilitychange", this.look);
  }

  hear(what, detail) {
    const { stage } = this;
    if (what === "tape") this.heed(detail);
    else if (what === "head" && detail.live !== "" && stage.head.live === "") this.rest();
  }

  /** Steps that changed: one of them may ask now. Looked up at the end of the tape, wherever a view stands. */
  heed(touched) {
    const { story, look, scene } = this.stage;
    for (const step of touched) {
      const mark = look.marks[story.look(step, story.length).mark];
      if (mark.key === "needs_orchestrator" || mark.key === "permission") this.asks(step, scene.ids[step], mark);
    }
  }

  async asks(step, id, mark) {
    const card = this.show(mark, `${id} asks a person`, step);
    if (!card) return;
    const message = await this.stage.ask({ ask: "step", step: id, at: null });
    const asked = message.ok ? message.answer.permissions.find(({ is_open: isOpen }) => isOpen) : null;
    const words = asked ? `May it use ${asked.name}? ${asked.about}` : message.ok ? message.answer.question?.text : "";
    if (words && this.card === card) say(card.words, `${id} asks: ${words}`);
  }

  rest() {
    const { head, statusMark } = this.stage;
    const isTold = this.card !== null && head.status === "needs_orchestrator";
    if (!isTold) this.show(statusMark, head.sentence);
  }

  get isInSight() {
    return !document.hidden && [...this.stage.views].some((view) => view.isSeen);
  }

  /** Put up a card, in the place of one that is there; null where the run is in sight, or nowhere. */
  show(mark, words, step = -1) {
    if (this.isInSight || !this.stage.views.size) return null;
    this.dismiss();
    const said = h("p", {}, words);
    const close = button("×", () => this.dismiss(), { kind: "pixirnb-close" });
    close.setAttribute("aria-label", "Dismiss");
    const root = h(
      "div",
      { class: "pixirnb-view pixirnb-window pixirnb-notice" },
      h(
        "div",
        { class: "pixirnb-top" },
        h("span", { class: `pixirnb-status pixirnb-${mark.tone}` }, icon(mark, 16), mark.word),
        h("span", { class: "pixirnb-flow" }, this.stage.scene.workflow),
        h("span", { class: "pixirnb-right" }, close),
      ),
      said,
      h("div", { class: "pixirnb-beside" }, button("Show", () => this.goTo(step), { kind: "pixirnb-primary" })),
    );
    for (const event of ["pointerenter", "focusin"]) root.addEventListener(event, () => this.hold(true));
    for (const event of ["pointerleave", "focusout"]) root.addEventListener(event, () => this.hold(false));
    root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.dismiss();
    });
    this.card = { root, words: said };
    corner().append(root);
    this.count();
    return this.card;
  }

  /** Time runs while someone could read it and nobody is about to act on it. */
  count() {
    clearTimeout(this.timer);
    if (!this.card || this.isHeld || document.hidden) return;
    this.timer = setTimeout(() => this.dismiss(), STAYS_MS);
  }

  hold(isHeld) {
    this.isHeld = isHeld;
    this.count();
  }

  goTo(step) {
    const views = [...this.stage.views].filter((view) => view.root.isConnected);
    const view = views.find((each) => each.root.offsetParent !== null) ?? views[0];
    this.dismiss();
    if (!view) return;
    if (step >= 0) this.stage.choose(step);
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

  leave() {
    document.removeEventListener("visibilitychange", this.look);
    this.dismiss();
  }
}

/** Where the notices of all runs of a page stand, one above the other; a live region that was there before its words. */
function corner() {
  let made = [...document.body.children].find((child) => child.classList.contains("pixirnb-corner"));
  if (!made) {
    made = h("div", { class: "pixirnb-corner", role: "status", "aria-live": "polite" });
    document.body.append(made);
  }
  // JupyterLab's own notices stand there too: ours go above them.
  const tops = [...document.querySelectorAll(".Toastify__toast")].map((toast) => toast.getBoundingClientRect().top);
  const floor = Math.min(innerHeight, ...tops);
  made.style.bottom = floor < innerHeight ? `${innerHeight - floor + 10}px` : "";
  return made;
}
