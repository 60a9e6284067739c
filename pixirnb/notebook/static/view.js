// One view of a run in one output: head, tabs, graph or timeline, panel, and the replay beneath. It redraws at most once a frame.

class View {
  constructor(stage, host) {
    this.stage = stage;
    this.todo = new Set();
    this.touched = new Set();
    this.controls = new Controls(this);
    this.graph = new Graph(stage);
    this.timeline = new Timeline(this);
    this.panel = new Panel(this);
    this.replay = new Replay(this);
    this.stageRoom = h("div", { class: "pixirnb-room" }, this.graph.frame, this.timeline.root);
    this.body = h("div", { class: "pixirnb-body" }, this.stageRoom, this.panel.root);
    this.root = h(
      "div", // the rules of the saved cards are for one
      { class: "pixirnb-view pixirnb-window", role: "region", "aria-label": `Run ${stage.scene.run_id} of ${stage.scene.workflow}` },
      this.controls.root,
      this.body,
      this.replay.root,
    );
    // Keys typed here are not the notebook's: "d d" in a field must not delete the cell.
    this.root.addEventListener("keydown", (event) => event.stopPropagation());
    host.append(this.root);
    this.sized = new ResizeObserver(() => {
      this.resized();
      if (this.todo.size) this.hear("shown");
    });
    this.sized.observe(this.root);
    this.isSeen = true;
    this.sight = new IntersectionObserver((seen) => {
      this.isSeen = seen[seen.length - 1].isIntersecting;
      if (this.isSeen) stage.notice?.dismiss();
    });
    this.sight.observe(this.root);
    this.clock = setInterval(() => {
      stage.listen();
      this.hear("clock");
    }, 1000);
    stage.views.add(this);
    this.hear("reset");
  }

  /** Something changed: it is drawn with the next frame. */
  hear(what, detail) {
    this.todo.add(what);
    if (what === "tape") for (const step of detail) this.touched.add(step);
    this.frameAsked ??= requestAnimationFrame(() => {
      this.frameAsked = null;
      // A front-end may take an output off the page, to bring it back or for good, and not say so: it is drawn when it is back.
      if (this.root.isConnected) this.draw();
    });
  }

  draw() {
    const { todo, touched } = this;
    this.todo = new Set();
    this.touched = new Set();
    const has = (...names) => names.some((name) => todo.has(name));
    if (has("reset", "sheet")) {
      this.graph.takeSheet();
      this.isOpen = false;
    }
    const isGraph = this.stage.tab === "graph";
    this.graph.frame.hidden = !isGraph;
    this.timeline.root.hidden = isGraph;
    this.root.classList.toggle("pixirnb-past", this.stage.isPast);
    this.resized();
    if (has("reset", "position", "head", "chosen", "sheet", "tab")) this.graph.refresh();
    else if (touched.size && !this.stage.isPast) this.graph.refresh(touched);
    else if (has("pulse", "clock")) this.graph.tick();
    if (has("reset", "chosen", "sheet", "tab")) this.graph.drawConflicts();
    const said = { has, touched };
    this.controls.draw(said);
    if (!isGraph) this.timeline.draw(said);
    this.panel.draw(said);
    this.replay.draw(said);
  }

  resized() {
    const width = this.graph.frame.clientWidth;
    if (!width || this.graph.frame.hidden) return;
    if (!this.isOpen) {
      this.isOpen = true;
      this.graph.open();
    } else if (width !== this.width) {
      this.graph.open();
    }
    this.width = width;
  }

  leave() {
    this.stage.views.delete(this);
    clearInterval(this.clock);
    if (this.frameAsked) cancelAnimationFrame(this.frameAsked);
    this.sized.disconnect();
    this.sight.disconnect();
    this.panel.leave();
    this.root.remove();
  }
}

export default () => {
  let stage = null;
  return {
    initialize({ model }) {
      stage = new Stage(model);
      stage.notice = new Notice(stage);
      return () => stage.notice.leave();
    },
    render({ model, el }) {
      stage ??= new Stage(model);
      const view = new View(stage, el);
      return () => view.leave();
    },
  };
};
