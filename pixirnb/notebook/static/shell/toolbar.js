// Which picture is shown, and how: graph or timeline, zoom, the steps that are serialized, every step of the stacks, and the search.

import { button, h, setText } from "../dom/elements.js";
import { stepSearch } from "../graph/step_search.js";

export class Toolbar {
  constructor(view) {
    this.view = view;
    this.store = view.store;
    const { store } = this;
    const camera = () => view.graph.camera;
    const tab = (name, words) => button(words, () => view.showTab(name), { pressed: false, kind: "pixirnb-tab" });
    const small = (words, click, name) => {
      const control = button(words, click, { title: name, kind: "pixirnb-square" });
      control.setAttribute("aria-label", name);
      return control;
    };
    this.tabs = { graph: tab("graph", "Graph"), timeline: tab("timeline", "Timeline") };
    this.conflicts = button("", () => this.showConflicts(), { pressed: false, title: "Show the steps that cannot run in parallel and the order they run in" });
    this.whole = button("All steps", () => store.unfold(store.sheet ? 0 : 1), { pressed: false, title: "Show every step of the stacks and long columns" });
    this.graphTools = h(
      "span",
      { class: "pixirnb-tools" },
      stepSearch(view).root,
      this.conflicts,
      this.whole,
      h(
        "span",
        { class: "pixirnb-joined" },
        small("−", () => camera().zoom(0.8), "Zoom out"),
        small("+", () => camera().zoom(1.25), "Zoom in"),
        button("Fit", () => camera().fit(), { title: "Show the whole graph" }),
      ),
    );
    this.root = h("div", { class: "pixirnb-tools", role: "toolbar", "aria-label": "View" }, this.graphTools, h("span", { class: "pixirnb-joined" }, this.tabs.graph, this.tabs.timeline));
  }

  draw({ has }) {
    if (!has("reset", "sheet", "tab")) return;
    const { store, view } = this;
    for (const [name, control] of Object.entries(this.tabs)) control.setAttribute("aria-pressed", String(view.tab === name));
    this.graphTools.hidden = view.tab !== "graph";
    const count = store.scene.conflict_count;
    this.conflicts.hidden = !count;
    setText(this.conflicts, `Serialized (${count.toLocaleString("en-US")})`);
    this.conflicts.setAttribute("aria-pressed", String(view.graph.withConflicts));
    this.whole.hidden = !store.scene.sheets[0].more.length;
    this.whole.setAttribute("aria-pressed", String(store.sheet > 0));
  }

  showConflicts() {
    const { graph } = this.view;
    graph.withConflicts = !graph.withConflicts;
    graph.drawConflicts();
    this.draw({ has: () => true });
  }
}
