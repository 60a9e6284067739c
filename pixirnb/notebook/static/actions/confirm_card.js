// Cards that open in a place of their own, and are put away with Escape or a button; the focus goes back to where it came from.
// A confirm card first shows what an action would do: nothing happens before its button is pressed.

import { inlineCode, muted } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";

export class Card {
  /** `root` is what it shows; `spare` finds where the focus goes when what opened it is gone. */
  constructor(root, { statusMessage, fallbackFocus = () => null }) {
    this.root = root;
    this.statusMessage = statusMessage;
    this.fallbackFocus = fallbackFocus;
    this.opener = null;
    root.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Show it in `container`, instead of what stood there, with the focus on `first`. */
  open(container, first = this.root) {
    this.opener = document.activeElement;
    this.statusMessage.clear();
    container.openCard?.close();
    container.openCard = this;
    this.container = container;
    setChildren(container, this.root);
    first.focus({ preventScroll: true });
    this.root.scrollIntoView({ block: "nearest" });
  }

  onKey(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.close();
  }

  close() {
    const hadFocus = this.root.contains(document.activeElement);
    this.root.remove();
    this.container.openCard = null;
    const target = this.opener?.isConnected ? this.opener : this.fallbackFocus();
    if (hadFocus) target?.focus({ preventScroll: true });
  }
}

/** Shows what an action would do. A subclass draws the kernel's answer with `draw(answer)`. */
export class ConfirmCard extends Card {
  /** `question` is what the kernel is asked. */
  constructor(view, question, { name, statusMessage, fallbackFocus }) {
    super(h("section", { class: "pixirnb-forecast", role: "group", "aria-label": name, tabindex: -1 }), { statusMessage, fallbackFocus });
    this.view = view;
    this.store = view.store;
    this.question = question;
    this.name = name;
  }

  open(container) {
    this.ask();
    super.open(container);
  }

  async ask() {
    const asked = (this.asked = {});
    this.keepFocus();
    setChildren(this.root, muted("Loading the preview …"), this.buttons());
    this.root.setAttribute("aria-busy", "true");
    const message = await this.store.ask(this.question);
    if (this.asked !== asked) return;
    this.root.removeAttribute("aria-busy");
    if (message.ok) this.draw(message.answer);
    else this.showError(message.error);
  }

  /** Whoever has the focus here keeps it while what stands here changes. */
  keepFocus() {
    if (this.root.contains(document.activeElement)) this.root.focus({ preventScroll: true });
  }

  /**
   * Show what it would come to, and the button that does it; without one it can only be put away. The buttons stand before `details`,
   * which may be long. `first` is what has the focus then.
   */
  showResult(primary, words, { summary, details = [], first = primary }) {
    this.keepFocus();
    setChildren(this.root, h("h4", {}, this.name), summary, this.buttons(primary, words), details);
    if (!this.root.contains(document.activeElement)) return; // somebody went on meanwhile
    const target = first ?? this.root;
    target.focus({ preventScroll: true });
    this.root.scrollIntoView({ block: "nearest" });
    target.scrollIntoView({ block: "nearest" });
  }

  showError(error) {
    this.keepFocus();
    setChildren(
      this.root,
      h("h4", {}, this.name),
      h("p", { role: "status" }, h("b", { class: "pixirnb-bad" }, inlineCode(error.message)), " ", inlineCode(error.fix)),
      this.buttons(button("Reload", () => this.ask())),
    );
  }

  buttons(primary = null, words = "Cancel") {
    return h("div", { class: "pixirnb-flex-row" }, primary, button(words, () => this.close()));
  }
}
