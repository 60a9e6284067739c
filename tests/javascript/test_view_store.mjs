import assert from "node:assert/strict";
import { test } from "node:test";

import { RunStore } from "../../pixirnb/notebook/static/state/store.js";
import { viewStore } from "../../pixirnb/notebook/static/state/view_store.js";
import { Model } from "./models.mjs";
import { chainTape, sceneOf, Tape } from "./tapes.mjs";

function opened(count, traits = {}) {
  const tape = chainTape();
  const store = new RunStore(new Model({ scene: tape.scene, tape: tape.entries, ...traits }));
  const heard = Array.from({ length: count }, () => []);
  return [store, heard, ...heard.map((words) => viewStore(store, (what) => words.push(what)))];
}

test("each view of a run has its own step, tab and place in the graph", () => {
  const [store, heard, left, right] = opened(2);
  left.choose(1);
  left.choose(1);
  left.tab = "timeline";
  left.camera = [1, 2, 3];
  assert.deepEqual([left.chosen, left.tab, left.camera], [1, "timeline", [1, 2, 3]]);
  assert.deepEqual([right.chosen, right.tab, right.camera], [-1, "graph", null]);
  assert.deepEqual(heard, [["chosen"], []]);
  left.choose(-1);
  assert.equal(left.chosen, -1);
  assert.deepEqual([store.chosen, store.tab, store.camera], [undefined, undefined, undefined]);
});

test("all else of a run is shared, whichever view changes it", () => {
  const [store, , left, right] = opened(2);
  left.seek(3);
  right.pressed = "running";
  assert.deepEqual([store.position, right.isPast, right.status, left.pressed], [3, true, "running", "running"]);
  left.ask({ ask: "run" });
  right.ask({ ask: "run" });
  assert.equal(new Set(store.model.sent.map(({ id }) => id)).size, 2);
});

test("an edited workflow numbers its steps otherwise: the chosen step stays, and is back where it is known again", () => {
  const before = new Tape(sceneOf({ old: [], a: [] })).event(0, "run_started").attempt("old", 1, 0, 500);
  const scene = sceneOf({ a: [], b: ["a"] });
  const tape = new Tape(scene);
  for (const each of before.entries) tape.entries.push([...each.slice(0, 3), -1, [], ...each.slice(5)]);
  tape.event(900, "run_resumed").attempt("a", 1, 1000, 2000);
  const [, , left, right] = opened(2, { scene, tape: tape.entries, past: [{ until: 5, scene: before.scene, tape: before.entries }] });
  left.choose(left.stepOf.get("a"));
  right.choose(right.stepOf.get("b"));
  left.seek(5);
  assert.deepEqual([left.scene.ids[left.chosen], right.chosen], ["a", -1]);
  left.seek(null);
  assert.deepEqual([left.chosen, right.chosen], [0, 1]);
});

test("an output that is drawn again goes on from where it was, and the next starts afresh", () => {
  const [store, , left] = opened(1);
  left.choose(1);
  left.tab = "timeline";
  left.leave();
  const again = viewStore(store, () => {});
  assert.deepEqual([again.chosen, again.tab], [1, "timeline"]);
  assert.deepEqual([viewStore(store, () => {}).chosen], [-1]);
});
