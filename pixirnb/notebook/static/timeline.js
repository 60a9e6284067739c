// The timeline: who ran when, attempt by attempt, and which chain of steps the run's length hung on.

class Timeline {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.root = h("div", { class: "pixirnb-timeline", hidden: true });
  }

  draw() {}
}
