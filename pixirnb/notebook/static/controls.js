// The head: how the run stands, what can be done with it, and which picture is shown.

class Controls {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.root = h("header", { class: "pixirnb-controls" });
    this.top = h("div", { class: "pixirnb-top" });
    this.sentence = h("p", { class: "pixirnb-sentence", role: "status", "aria-live": "polite" });
    this.bar = h("div", { class: "pixirnb-bar", "aria-hidden": "true" });
    this.chips = h("div", { class: "pixirnb-chips" });
    this.tools = h("div", { class: "pixirnb-tools", role: "toolbar", "aria-label": "View" });
    this.root.append(this.top, this.sentence, this.bar, this.chips, this.tools);
    this.tool();
  }

  tool() {
    const { stage, view } = this;
    const tab = (name, words) => button(words, () => stage.show(name), { pressed: stage.tab === name, kind: "pixirnb-tab" });
    const { camera } = view.graph ?? {};
    fill(
      this.tools,
      tab("graph", "Graph"),
      tab("timeline", "Timeline"),
      button("−", () => view.graph.camera.zoom(0.8), { title: "Zoom out" }),
      button("+", () => view.graph.camera.zoom(1.25), { title: "Zoom in" }),
      button("Fit", () => view.graph.camera.fit(), { title: "Show the whole graph" }),
    );
  }

  draw({ has }) {
    const { stage } = this;
    const mark = stage.statusMark;
    const elapsed = stage.isLive || stage.isPast ? clockOf(stage.moment) : spanOf(stage.head.elapsed_ms);
    fill(
      this.top,
      h("span", { class: `pixirnb-status pixirnb-${mark.tone}` }, icon(mark, 18), mark.word),
      h("span", { class: "pixirnb-flow" }, stage.scene.workflow),
      h("code", {}, stage.scene.run_id),
      h("span", { class: "pixirnb-mute pixirnb-right" }, elapsed),
    );
    say(this.sentence, stage.isPast || stage.isLive ? "" : stage.head.sentence);
    const counts = new Map();
    for (const step of stage.scene.ids.keys()) {
      const found = stage.markAt(step);
      const entry = counts.get(found.key) ?? [found, 0];
      entry[1] += 1;
      counts.set(found.key, entry);
    }
    fill(this.bar, [...counts.values()].map(([m, n]) => h("span", { class: `pixirnb-${m.tone}`, style: `flex:${n}` })));
    fill(this.chips, [...counts.values()].map(([m, n]) => h("span", { class: `pixirnb-nowrap pixirnb-${m.tone}` }, icon(m), " ", h("b", {}, n), ` ${m.word}`)));
    if (has("tab", "reset")) this.tool();
  }
}
