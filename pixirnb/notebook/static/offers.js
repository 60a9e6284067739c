// Cards that open in a place of their own, and are put away with Escape or a button; the focus goes back to where it came from.
// An offer is such a card that first says what an act would come to: nothing happens before its button.

class Card {
  /** `root` is what it shows; `spare` finds where the focus goes when what opened it is gone. */
  constructor(root, { remark, spare = () => null }) {
    this.root = root;
    this.remark = remark;
    this.spare = spare;
    this.opener = null;
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show it in `place`, instead of what stood there, with the focus on `first`. */
  open(place, first = this.root) {
    this.opener = document.activeElement;
    this.remark.clear();
    fill(place, this.root);
    first.focus({ preventScroll: true });
    this.root.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.close();
  }

  close() {
    const hadFocus = this.root.contains(document.activeElement);
    this.root.remove();
    const target = this.opener?.isConnected ? this.opener : this.spare();
    if (hadFocus) target?.focus({ preventScroll: true });
  }
}

/** What an act would come to. A kind of offer draws the kernel's answer with `draw(answer)`. */
class Offer extends Card {
  /** `question` is what the kernel is asked. */
  constructor(view, question, { name, remark, spare }) {
    super(h("section", { class: "pixirnb-forecast", "aria-label": name, tabindex: -1 }), { remark, spare });
    this.view = view;
    this.stage = view.stage;
    this.question = question;
    this.name = name;
  }

  open(place) {
    this.ask();
    super.open(place);
  }

  async ask() {
    const asked = (this.asked = {});
    this.rest();
    fill(this.root, h("p", { class: "pixirnb-mute" }, "Asking what it would do …"), this.buttons());
    this.root.setAttribute("aria-busy", "true");
    const message = await this.stage.ask(this.question);
    if (this.asked !== asked) return;
    this.root.removeAttribute("aria-busy");
    if (message.ok) this.draw(message.answer);
    else this.fail(message.error);
  }

  /** Whoever has the focus here keeps it while what stands here changes. */
  rest() {
    if (this.root.contains(document.activeElement)) this.root.focus({ preventScroll: true });
  }

  /**
   * Show what it would come to, and the button that does it; without one it can only be put away. The buttons stand before `details`,
   * which may be long. `first` is what has the focus then.
   */
  tell(act, words, { said, details = [], first = act }) {
    this.rest();
    fill(this.root, h("h4", {}, this.name), said, this.buttons(act, words), details);
    if (!this.root.contains(document.activeElement)) return; // somebody went on meanwhile
    const target = first ?? this.root;
    target.focus({ preventScroll: true });
    this.root.scrollIntoView({ block: "nearest" });
    target.scrollIntoView({ block: "nearest" });
  }

  fail(error) {
    this.rest();
    fill(
      this.root,
      h("h4", {}, this.name),
      h("p", { role: "status" }, h("b", { class: "pixirnb-bad" }, proseOf(error.message)), " ", proseOf(error.fix)),
      this.buttons(button("Ask again", () => this.ask())),
    );
  }

  buttons(act = null, words = "Not now") {
    return h("div", { class: "pixirnb-beside" }, act, button(words, () => this.close()));
  }
}
