import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const title = { text: "n.ipynb - JupyterLab" };
let observed = null;
Object.assign(document, {
  body: document.createElement("body"),
  hidden: false,
  addEventListener() {},
  querySelector: (selector) => (selector === "title" ? {} : (document.body.children[0] ?? null)),
  querySelectorAll: () => [],
});
Object.defineProperty(document, "title", { get: () => title.text, set: (text) => ((title.text = text), observed?.()) });
globalThis.innerHeight = 900;
globalThis.MutationObserver = class {
  constructor(act) {
    this.act = act;
  }
  observe() {
    observed = this.act;
  }
  disconnect() {
    observed = null;
  }
};

const { RunStore } = await import("../../pixirnb/notebook/static/state/store.js");
const { Toast } = await import("../../pixirnb/notebook/static/shell/toast.js");
const { noticeBoard } = await import("../../pixirnb/notebook/static/shell/notice_board.js");
const { Model } = await import("./models.mjs");
const { sceneOf, Tape } = await import("./tapes.mjs");

const LIVE = { cell: "%pixir show r-1", live: "here", status: "running", now: 0, sentence: "It runs." };

/** A run that no one has in sight, and what asks in it. */
function run(workflow) {
  const tape = new Tape({ ...sceneOf({ ok: [] }), workflow }).event(0, "run_started");
  const model = new Model({ scene: tape.scene, tape: [...tape.entries], head: LIVE });
  const store = new RunStore(model);
  const toast = (store.toast = new Toast(store));
  store.views.add({ isVisible: false, onChange() {} });
  const say = (mark) => {
    const from = tape.entries.length;
    tape.event(1, "decision_requested", "ok", { ok: [mark] });
    model.receive({ tape: { from, entries: tape.entries.slice(from) } });
  };
  const end = (status, milliseconds) => model.set("head", { ...LIVE, live: "", status, elapsed_ms: milliseconds, sentence: `${workflow} is ${status}.` });
  return { toast, say, end };
}

function card() {
  return document.body.children[0]?.children[0]?.textContent ?? null;
}

test("only failures and long runs are announced at their end", () => {
  for (const [status, milliseconds, isAnnounced] of [["completed", 29_000, false], ["interrupted", 900, false], ["completed", 31_000, true], ["failed", 900, true]]) {
    const { end, toast } = run("w");
    end(status, milliseconds);
    assert.equal(card() !== null, isAnnounced, status);
    toast.dispose();
    assert.equal(card(), null);
  }
});

test("several notices are one card with a count, and what needs a person comes first", () => {
  const [first, second, third] = ["one", "two", "three"].map(run);
  first.end("failed", 900);
  assert.match(card(), /^failedone×one is failed\.Show$/);
  second.say("needs_orchestrator");
  third.end("failed", 900);
  assert.match(card(), /^3 notices×1 run waiting for a person two needs a person three failed one failedShow first$/);
  first.end("failed", 900);
  assert.equal(noticeBoard().notices.length, 3);
  second.toast.dispose();
  first.toast.dispose();
  assert.match(card(), /^failedthree×/);
  third.toast.dispose();
});

test("the title says which run needs a person, counts several, and is restored", () => {
  const [first, second] = ["release", "deploy"].map(run);
  first.say("needs_orchestrator");
  assert.equal(document.title, "◆ release · n.ipynb - JupyterLab");
  document.title = "other.ipynb - JupyterLab";
  assert.equal(document.title, "◆ release · other.ipynb - JupyterLab");
  second.say("permission");
  assert.equal(document.title, "◆ 2 runs · other.ipynb - JupyterLab");
  first.say("checkpoint_ready");
  assert.equal(document.title, "◆ deploy · other.ipynb - JupyterLab");
  second.toast.dispose();
  first.toast.dispose();
  assert.equal(document.title, "other.ipynb - JupyterLab");
  assert.equal(observed, null);
});
