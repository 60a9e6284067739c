// Before anything runs again: what a resume would reuse, what it would run, and what it would hold. Nothing happens before "Run this".

class Forecast extends Offer {
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
    this.tell(
      run,
      answer.is_nothing ? "Close" : "Not now",
      { said: h("p", { role: "status" }, proseOf(answer.sentence)), details: h("ul", { class: "pixirnb-groups" }, answer.groups.map((group) => this.group(group))) },
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
}
