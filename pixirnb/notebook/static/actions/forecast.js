// Before anything runs again: what a resume would reuse, what it would run, and what it would hold; in the graph, what would run
// stands out. Nothing happens before "Start".

import { codeList, disclosure, inlineCode } from "../dom/content.js";
import { h } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { markBadge } from "../dom/marks.js";
import { labelsOf } from "../state/step_names.js";
import { actionButton, announceNewRun } from "./action_buttons.js";
import { ConfirmCard } from "./confirm_card.js";

export class Forecast extends ConfirmCard {
  draw(answer) {
    this.view.graph.mark(answer.runs.map((id) => this.store.stepOf.get(id)));
    const run = answer.is_nothing || !answer.wish
      ? null
      : actionButton(this.store, "Start", answer.wish, {
          doing: "Starting …",
          statusMessage: this.statusMessage,
          kind: "pixirnb-primary",
          done: (done) => {
            this.close();
            announceNewRun(this.store, this.view, done, this.statusMessage);
          },
        });
    this.showResult(
      run,
      answer.is_nothing ? "Close" : "Cancel",
      { summary: h("p", { role: "status" }, inlineCode(answer.sentence)), details: h("ul", { class: "pixirnb-groups" }, answer.groups.map((group) => this.group(group))) },
    );
  }

  close() {
    this.view.graph.mark(null);
    super.close();
  }

  group({ mark, count, rows }) {
    return h(
      "li",
      {},
      h("span", { class: "pixirnb-group" }, markBadge(this.store, mark), " ", h("b", {}, count.toLocaleString("en-US"))),
      h("div", { class: "pixirnb-rows" }, rows.map((row) => this.row(row))),
    );
  }

  row({ why, because: causes, count, steps: ids }) {
    const [because, steps] = [labelsOf(this.store, causes), labelsOf(this.store, ids)];
    const few = steps.length <= 8;
    return h(
      "div",
      {},
      why ? h("span", { class: "pixirnb-mute" }, why, because.length ? [" ", codeList(because, 4)] : null, ": ") : null,
      few ? codeList(steps, 8, count) : disclosure(pluralize(count, "step"), { kind: "pixirnb-inline" }, codeList(steps, 60, count)),
    );
  }
}
