import assert from "node:assert/strict";
import { test } from "node:test";

import { Questions } from "../../pixirnb/notebook/static/state/questions.js";
import { RunStore } from "../../pixirnb/notebook/static/state/store.js";
import { Clock } from "./clock.mjs";
import { Model } from "./models.mjs";
import { chainTape, MARK, sceneOf, Tape } from "./tapes.mjs";

const LIVE = { cell: "%pixir show r-1", live: "here", status: "running", now: 0, sentence: "It runs." };

function opened(traits = {}) {
  const tape = chainTape();
  const model = new Model({ scene: tape.scene, tape: tape.entries, ...traits });
  const store = new RunStore(model);
  const heard = [];
  store.views.add({ onChange: (what, detail) => heard.push([what, detail]) });
  return { model, store, heard };
}

test("seeking shows the run as it was, and the end follows the run", () => {
  const { store, heard } = opened();
  assert.equal(store.markAt(1).key, "checkpoint_ready");
  store.seek(3);
  assert.deepEqual([store.isPast, store.at, store.status, store.markAt(0).key, store.markAt(1).key], [true, 3, "running", "running", "queued"]);
  store.seek(3);
  store.seek(99);
  assert.deepEqual([store.isPast, store.position], [false, null]);
  store.seek(-4);
  assert.equal(store.position, 0);
  assert.deepEqual(heard.map(([what]) => what), ["position", "position", "position"]);
  store.seek(4);
  assert.deepEqual(heard.map(([, touched]) => touched && [...touched]), [null, null, null, [0]]); // only a move within the past is a few steps
});

test("a moment after the last event of a position is shown, and the views are not told of an event", () => {
  const { store, heard } = opened();
  store.seek(7);
  assert.equal(store.moment, 1000);
  store.seek(7, 1500);
  store.seek(7, 1500);
  assert.deepEqual([store.moment, store.at, heard.map(([what]) => what)], [1500, 7, ["position", "moment"]]);
  store.seek(8);
  assert.equal(store.moment, 3000);
  store.seek(null);
  assert.equal(store.moment, 3000);
});

test("what grows is appended once, however it overlaps", () => {
  const { entries } = chainTape();
  const { model, store, heard } = opened({ tape: entries.slice(0, 4), head: LIVE });
  model.receive({ tape: { from: 2, entries: entries.slice(2, 7) } });
  assert.equal(store.history.length, 7);
  assert.deepEqual([...heard.at(-1)[1]], [0, 1]);
  model.receive({ tape: { from: 2, entries: entries.slice(2, 5) } });
  assert.equal(heard.length, 1);
});

test("a gap is asked for", () => {
  const { entries } = chainTape();
  const { model, store } = opened({ tape: entries.slice(0, 4), head: LIVE });
  model.sent = [];
  model.receive({ tape: { from: 6, entries: entries.slice(6) } });
  assert.deepEqual([model.sent, store.history.length], [[{ ask: "tape", from: 4 }], 4]);
});

test("at rest the tape that was heard goes into the trait", () => {
  const { entries } = chainTape();
  const kept = entries.slice(0, 4);
  const { model } = opened({ tape: kept, head: LIVE });
  model.receive({ tape: { from: 4, entries: entries.slice(4) } });
  model.set("head", { ...LIVE, live: "", status: "completed" });
  assert.equal(kept.length, entries.length);
});

test("an answer goes to nobody who asked otherwise through one widget: a plan's buttons, a run's view, another page", async () => {
  const { Questions: OfAnotherPage } = await import("../../pixirnb/notebook/static/state/questions.js?another-page");
  const model = new Model({});
  const askers = [new Questions(model), new Questions(model), new OfAnotherPage(model)];
  const asked = askers.map((each) => each.ask({ ask: "run" }));
  for (const { id } of model.sent) for (const each of askers) each.take({ re: id, ok: true, answer: id });
  const answers = await Promise.all(asked);
  assert.deepEqual(answers.map(({ answer }) => answer), model.sent.map(({ id }) => id));
  assert.equal(new Set(model.sent.map(({ id }) => id)).size, 3);
});

test("an answer goes to who asked, and a silent kernel is an error", async () => {
  const clock = new Clock();
  try {
    const { model, store } = opened();
    const [first, second, third] = [store.ask({ ask: "run" }), store.ask({ ask: "step" }), store.ask({ ask: "value" })];
    const [, asked] = model.sent;
    assert.equal(asked.ask, "step");
    model.receive({ re: asked.id, ok: true, answer: 7 });
    assert.equal((await second).answer, 7);
    model.receive({ re: 99, ok: true });
    clock.pass(20_000);
    for (const each of [first, third]) assert.equal((await each).error.code, "kernel_silent");
  } finally {
    clock.restore();
  }
});

test("a kernel that cannot be asked is gone: what ran is lost", async () => {
  const { entries } = chainTape();
  const { model, store, heard } = opened({ tape: entries.slice(0, 3), head: LIVE });
  assert.equal(store.markAt(0).key, "running");
  model.isGone = true;
  assert.equal((await store.ask({ ask: "run" })).error.code, "kernel_silent");
  assert.deepEqual([store.isLive, store.wasRunning, store.markAt(0).key, store.statusMark.key], [false, true, "lost", "lost"]);
  assert.match(store.sentence, /%pixir show r-1$/);
  assert.deepEqual(heard.map(([what]) => what), ["head"]);
  model.isGone = false;
  model.set("head", LIVE);
  assert.equal(store.isLive, true);
});

test("up to an edit the steps are those there were then", () => {
  const before = new Tape(sceneOf({ old: [], a: [] })).event(0, "run_started").attempt("old", 1, 0, 500);
  const scene = sceneOf({ a: [], b: ["a"] });
  const tape = new Tape(scene);
  for (const each of before.entries) tape.entries.push([...each.slice(0, 3), -1, [], ...each.slice(5)]);
  tape.event(900, "run_resumed").attempt("a", 1, 1000, 2000);
  const { store, heard } = opened({ scene, tape: tape.entries, past: [{ until: 5, scene: before.scene, tape: before.entries }] });
  store.seek(5);
  assert.deepEqual([store.scene.ids, store.markAt(0).key], [["old", "a"], "checkpoint_ready"]);
  store.seek(6);
  assert.deepEqual(store.scene.ids, ["a", "b"]);
  assert.deepEqual(heard.map(([what]) => what), ["reset", "reset"]);
  assert.equal(store.planVersions[0].history.length, tape.entries.length);
});

test("a sign of life is of the attempt that runs now", () => {
  const { entries } = chainTape();
  const { store } = opened({ tape: entries.slice(0, 3), head: LIVE, pulse: { now: 10, steps: { 0: [1, 5, false, 0.5, "", 9], 1: [3, 5, false, null, "", 9] } } });
  assert.equal(store.heartbeatOf(0)[3], 0.5);
  assert.equal(store.heartbeatOf(1), null);
  store.seek(1);
  assert.equal(store.heartbeatOf(0), null);
});

test("what was printed last is of the running step that printed it last", () => {
  const { entries } = chainTape();
  const { store } = opened({ tape: entries.slice(0, 3), head: LIVE, pulse: { now: 10, steps: { 0: [1, 5, false, null, "", 9, "line 2"], 1: [3, 7, false, null, "", 9, "old"] } } });
  assert.deepEqual(store.lastPrinted, [0, "line 2"]);
  store.seek(1);
  assert.equal(store.lastPrinted, null);
});

test("marks are numbered as the vocabulary lists them", () => {
  assert.equal(opened().store.markOf.failed, MARK.failed);
});
