// The step panel: all that is known of the chosen step, at the moment that is shown.

class Panel {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.root = h("aside", { class: "pixirnb-panel", hidden: true });
  }

  draw() {}

  leave() {}
}
