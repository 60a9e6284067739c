// The replay: a slider over the tape. At its end the view moves with the run.

class Replay {
  constructor(view) {
    this.stage = view.stage;
    this.slider = h("input", {
      type: "range",
      class: "pixirnb-slider",
      min: 0,
      step: 1,
      "aria-label": "Replay: event",
      on: { input: () => this.stage.go(Number(this.slider.value)) },
    });
    this.words = h("span", { class: "pixirnb-mute" });
    this.root = h("footer", { class: "pixirnb-replay" }, this.slider, this.words);
  }

  draw() {
    const { stage } = this;
    this.slider.max = stage.story.length;
    this.slider.value = stage.at;
    say(this.words, stage.isPast ? `event ${stage.story.seqAt(stage.at)} of ${stage.story.length}` : `${stage.story.length} events`);
  }
}
