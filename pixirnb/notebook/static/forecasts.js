// Before anything runs again: what a resume would reuse, what it would run, and what it would hold. Nothing happens before "Run this".

class Forecast {
  /** `ask` is the question to the kernel; `closed` is called when it is put away. */
  constructor(view, ask, { name, remark, closed }) {
    this.view = view;
    this.stage = view.stage;
    this.asked = ask;
    this.name = name;
    this.remark = remark;
    this.closed = closed;
    this.root = h("section", {
      class: "pixirnb-forecast",
      "aria-label": name,
      tabindex: -1,
      on: { keydown: (event) => this.key(event) },
    });
    this.ask();
  }

  async ask() {
    fill(this.root, h("p", { class: "pixirnb-mute" }, "Asking what it would do …"), this.buttons());
    this.root.setAttribute("aria-busy", "true");
    const message = await this.stage.ask(this.asked);
    this.root.removeAttribute("aria-busy");
    if (message.ok) this.draw(message.answer);
    else this.fail(message.error);
  }

  draw(answer) {
    const run = answer.is_nothing || !answer.wish
      ? null
      : wishButton(this.stage, "Run this", answer.wish, {
          doing: "Starting …",
          remark: this.remark,
          kind: "pixirnb-primary",
          done: (done) => {
            this.close();
            tellNewRun(this.stage, this.view, done, this.remark);
          },
        });
    refill(
      this.root,
      h("h4", {}, this.name),
      h("p", { role: "status" }, proseOf(answer.sentence)),
      h("ul", { class: "pixirnb-groups" }, answer.groups.map((group) => this.group(group))),
      this.buttons(run, answer.is_nothing ? "Close" : "Not now"),
    );
    (run ?? this.root).focus({ preventScroll: true });
  }

  fail(error) {
    refill(
      this.root,
      h("p", { role: "status" }, h("b", { class: "pixirnb-bad" }, proseOf(error.message)), " ", proseOf(error.fix)),
      this.buttons(button("Ask again", () => this.ask())),
    );
  }

  group({ mark, count, rows }) {
    return h(
      "li",
      {},
      h("span", { class: "pixirnb-group" }, markBadge(this.stage, mark), " ", h("b", {}, count.toLocaleString("en-US"))),
      h("div", { class: "pixirnb-rows" }, rows.map((row) => this.row(row))),
    );
  }

  row({ why, because, count, steps }) {
    const few = steps.length <= 8;
    return h(
      "div",
      {},
      why ? h("span", { class: "pixirnb-mute" }, why, because.length ? [" ", namesOf(because, 4)] : null, ": ") : null,
      few ? namesOf(steps, 8, count) : fold(plural(count, "step"), { kind: "pixirnb-inline" }, namesOf(steps, 60, count)),
    );
  }

  buttons(first = null, words = "Not now") {
    return h("div", { class: "pixirnb-beside" }, first, button(words, () => this.close()));
  }

  key(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.close();
  }

  close() {
    const hadFocus = this.root.contains(document.activeElement);
    this.root.remove();
    this.closed(hadFocus);
  }
}
