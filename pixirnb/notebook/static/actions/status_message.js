// The line that says what became of what a person asked for.

import { inlineCode } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";

/** One line about the last action; a refusal stays until it is dismissed, anything else until the next. */
export class StatusMessage {
  constructor() {
    this.root = h("div", { class: "pixirnb-status-message", role: "status", "aria-live": "polite", hidden: true });
  }

  /** Words or nodes. */
  show(...parts) {
    this.render("pixirnb-message-ok", h("span", {}, parts));
  }

  /** Words that are true while the run is live. */
  showWhileLive(...parts) {
    this.render("pixirnb-message-ok pixirnb-while-live", h("span", {}, parts));
  }

  /** An error of the kernel: what happened, and what to do. */
  showError(error) {
    this.render(
      "pixirnb-message-error",
      h("span", {}, h("b", { class: "pixirnb-bad" }, inlineCode(error.message)), error.fix ? [" ", inlineCode(error.fix)] : null),
    );
  }

  render(kind, words) {
    this.root.hidden = false;
    this.root.className = `pixirnb-status-message ${kind}`;
    const close = button("×", () => this.clear(), { kind: "pixirnb-close" });
    close.setAttribute("aria-label", "Dismiss");
    setChildren(this.root, words, close);
  }

  /** The run came to rest: a message about the live run is over, a refusal is not. */
  runEnded() {
    if (this.root.classList.contains("pixirnb-while-live")) this.clear();
  }

  clear() {
    this.root.hidden = true;
    setChildren(this.root);
  }
}
