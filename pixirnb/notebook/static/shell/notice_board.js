// The one card at the corner of a page for the notices of all its runs: several collapse into one with a count. It takes no focus and
// goes by itself.

import { button, h, icon, setChildren } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";

const NOTICE_MS = 12_000;
const BOARD = Symbol.for("pixirnb.notice_board.1");

/** The board of the page: one for the modules of all widgets, and of other versions of pixirnb. */
export function noticeBoard() {
  return (globalThis[BOARD] ??= new NoticeBoard());
}

class NoticeBoard {
  constructor() {
    this.notices = []; // `{owner, mark, workflow, words, isUrgent, show}`, one an owner, the newest first
    this.card = null;
    document.addEventListener("visibilitychange", () => this.startTimer());
  }

  has(owner) {
    return this.notices.some((notice) => notice.owner === owner);
  }

  put(notice) {
    this.notices = [notice, ...this.notices.filter(({ owner }) => owner !== notice.owner)];
    this.draw();
    return notice;
  }

  reword(notice, words) {
    if (!this.notices.includes(notice)) return;
    notice.words = words;
    this.draw();
  }

  remove(owner) {
    if (!this.has(owner)) return;
    this.notices = this.notices.filter((notice) => notice.owner !== owner);
    this.draw();
  }

  clear() {
    this.notices = [];
    this.draw();
  }

  draw() {
    if (!this.notices.length) {
      this.card?.remove();
      this.card = null;
      this.isHeld = false;
    } else {
      this.card ??= this.makeCard();
      setChildren(this.card, this.notices.length > 1 ? this.several() : this.one(this.notices[0]));
    }
    this.startTimer();
  }

  makeCard() {
    const hold = (isHeld) => () => this.setHeld(isHeld);
    const onKey = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.clear();
    };
    const on = { pointerenter: hold(true), focusin: hold(true), pointerleave: hold(false), focusout: hold(false), keydown: onKey };
    const card = h("div", { class: "pixirnb-view pixirnb-window pixirnb-toast", on });
    noticeContainer().append(card);
    return card;
  }

  one({ mark, workflow, words, show }) {
    return [
      this.head(statusOf(mark), h("span", { class: "pixirnb-flow" }, workflow)),
      h("p", {}, words),
      h("div", { class: "pixirnb-flex-row" }, button("Show", show, { kind: "pixirnb-primary" })),
    ];
  }

  /** What needs a person first, then the newest. */
  several() {
    const notices = [...this.notices].sort((a, b) => b.isUrgent - a.isUrgent);
    const urgent = notices.filter(({ isUrgent }) => isUrgent).length;
    const words = urgent ? `${pluralize(urgent, "run")} waiting for a person` : notices.map(({ workflow }) => workflow).join(", ");
    const row = ({ mark, workflow, words: said, show }) => h("li", {}, button([icon(mark), " ", workflow], show, { kind: "pixirnb-slight", title: said }), " ", mark.word);
    return [
      this.head(h("span", { class: "pixirnb-status" }, pluralize(notices.length, "notice"))),
      h("details", { class: "pixirnb-fold", open: this.card.querySelector?.("details")?.open }, h("summary", {}, words), h("ul", {}, notices.map(row))),
      h("div", { class: "pixirnb-flex-row" }, button("Show first", notices[0].show, { kind: "pixirnb-primary" })),
    ];
  }

  head(...parts) {
    const close = button("×", () => this.clear(), { kind: "pixirnb-close" });
    close.setAttribute("aria-label", "Dismiss");
    return h("div", { class: "pixirnb-top" }, parts, h("span", { class: "pixirnb-right" }, close));
  }

  /** Time runs while someone could read it and nobody is about to act on it. */
  startTimer() {
    clearTimeout(this.timer);
    if (!this.card || this.isHeld || document.hidden) return;
    this.timer = setTimeout(() => this.clear(), NOTICE_MS);
  }

  setHeld(isHeld) {
    this.isHeld = isHeld;
    this.startTimer();
  }
}

function statusOf(mark) {
  return h("span", { class: `pixirnb-status pixirnb-${mark.tone}` }, icon(mark, 16), mark.word);
}

/** Where the card stands; a live region that was there before its words. */
function noticeContainer() {
  let container = document.querySelector("body > .pixirnb-toast-container");
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
