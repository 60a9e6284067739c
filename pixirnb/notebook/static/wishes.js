// What a person asks for with a click: the button says that it is being done, and a line says what became of it.

const SETTLING_MS = 4000; // after this a button stands as before, even if nothing about the run has changed

/** One line about the last wish; a refusal stays until it is dismissed, anything else until the next. */
class Remark {
  constructor() {
    this.root = h("div", { class: "pixirnb-remark", role: "status", "aria-live": "polite", hidden: true });
  }

  /** Words, and whatever belongs beside them. */
  say(...parts) {
    this.put("pixirnb-answered", h("span", {}, parts));
  }

  /** Words that are true while the run is live. */
  pass(...parts) {
    this.put("pixirnb-answered pixirnb-passing", h("span", {}, parts));
  }

  /** An error of the kernel: what happened, and what to do. */
  refuse(error) {
    this.put(
      "pixirnb-refused",
      h("span", {}, h("b", { class: "pixirnb-bad" }, proseOf(error.message)), error.fix ? [" ", proseOf(error.fix)] : null),
    );
  }

  put(kind, words) {
    this.root.hidden = false;
    this.root.className = `pixirnb-remark ${kind}`;
    const close = button("×", () => this.clear(), { kind: "pixirnb-close" });
    close.setAttribute("aria-label", "Dismiss");
    fill(this.root, words, close);
  }

  /** The run came to rest: what was said of it while it was live is over, a refusal is not. */
  outlive() {
    if (this.root.classList.contains("pixirnb-passing")) this.clear();
  }

  clear() {
    this.root.hidden = true;
    fill(this.root);
  }
}

/**
 * Send a wish. Meanwhile `trigger` shows `doing`, and neither it nor `others` can be pressed; resolves to the answer, or to null where
 * it was refused or is under way already. They are not disabled: a button that is loses the focus, and nobody could give it back.
 */
async function grant(stage, wish, { trigger, doing, remark, others = [] }) {
  if (isBarred(trigger)) return null;
  const words = [...trigger.childNodes];
  remark.clear();
  for (const each of [trigger, ...others]) each.setAttribute("aria-disabled", "true");
  trigger.setAttribute("aria-busy", "true");
  trigger.textContent = doing;
  const settle = () => {
    for (const each of [trigger, ...others]) each.removeAttribute("aria-disabled");
    trigger.removeAttribute("aria-busy");
    trigger.replaceChildren(...words);
  };
  const message = await stage.ask(wish);
  if (!message.ok) {
    settle();
    remark.refuse(message.error);
    return null;
  }
  setTimeout(settle, SETTLING_MS);
  return message.answer;
}

/** A button that sends a wish. */
function wishButton(stage, words, wish, { doing, remark, title = null, kind = "", done = null }) {
  const trigger = button(
    words,
    async () => {
      const answer = await grant(stage, wish, { trigger, doing, remark });
      if (answer) done?.(answer);
    },
    { title, kind },
  );
  return trigger;
}

/** A button that puts a text into a cell, or where none can be reached on the clipboard, and says which. */
function cellButton(stage, view, words, source, { remark, title = null }) {
  const give = async () => {
    const where = await handOver(stage.model, view.root, source);
    if (where) remark.say(where);
    else remark.say("Neither a cell nor the clipboard can be reached from here. Copy this by hand: ", h("code", {}, source));
  };
  return button(words, give, { title });
}

/** Tell of a run that began with a wish and is another than the one shown. */
function tellNewRun(stage, view, answer, remark) {
  if (!answer.is_new) return;
  remark.say(
    "A new run began there: ",
    h("code", {}, answer.run_id),
    ". ",
    cellButton(stage, view, "Show it in a cell", `%pixir show ${answer.run_id}`, { remark }),
  );
}
