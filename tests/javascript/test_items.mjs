import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { foundItems, layOut, rankedItems } from "../../pixirnb/notebook/static/panel/item_order.js";
import { boxCaption } from "../../pixirnb/notebook/static/graph/step_boxes.js";
import { ItemLists, StepPlaces } from "../../pixirnb/notebook/static/state/item_lists.js";
import { RunHistory } from "../../pixirnb/notebook/static/state/run_history.js";
import { idOf, labelOf, nameOf } from "../../pixirnb/notebook/static/state/step_names.js";
import { Courses } from "../../pixirnb/notebook/static/timeline/courses.js";
import { Intervals } from "../../pixirnb/notebook/static/timeline/intervals.js";
import { MARK, VOCABULARY } from "./tapes.mjs";

const EXPANDED = 99;
const entry = (seq, kind, step, changes = [], details = []) => [seq, seq * 100, kind, step, changes, "", details];

/** Two written steps; the first has three items. */
function historyWithItems() {
  const history = new RunHistory(2, MARK.queued, EXPANDED);
  history.append([entry(1, 0, -1), entry(2, EXPANDED, 0, [], [3, 0, 0, 3]), entry(3, 3, 2, [2, MARK.running, 1, -1, -1]), entry(4, 6, 2, [2, MARK.failed, 1, 5, -1, 0, MARK.running, 0, -1, -1])]);
  return history;
}

test("items have places after the written steps, and keep them when a list is read again", () => {
  const items = new ItemLists(2);
  assert.deepEqual(items.expand(4, 0, [0, 3]), [2, 3, 4]);
  assert.deepEqual(items.expand(5, 1, [0, 2]), [5, 6]);
  assert.deepEqual(items.expand(9, 0, [3, 1, 1, 1, 0, 1]), [7, 3, 2]);
  assert.deepEqual([items.at(0, 4), items.at(0, 5), items.at(0, 10)], [null, [2, 3, 4], [7, 3, 2]]);
  assert.deepEqual([items.parentOf(7), items.numberOf(7), items.parentOf(6), items.parentOf(1), items.isItem(1)], [0, 3, 1, 1, false]);
});

test("an item is found by its id and named by it", () => {
  const items = new ItemLists(2);
  items.expand(0, 1, [0, 2]);
  const places = new StepPlaces(["a", "b"], items);
  assert.deepEqual([places.get("b"), places.get("b@1"), places.get("b@7"), places.get("c@1"), places.get(null)], [1, 3, undefined, undefined, undefined]);
  assert.deepEqual([places.has("b@0"), places.has("a@0")], [true, false]);
  const scene = { ids: ["a", "b"], titles: ["", "Title"], items };
  assert.deepEqual([idOf(scene, 3), nameOf(scene, 3), labelOf(scene, 3), labelOf(scene, 1)], ["b@1", "b@1", "b@1", "Title (b)"]);
});

test("a list that becomes known touches its step, and its items look untouched until they change", () => {
  const history = new RunHistory(2, MARK.queued, EXPANDED);
  assert.deepEqual([...history.append([entry(1, EXPANDED, 0, [], [3, 0, 0, 3])])], [0]);
  assert.equal(history.stepAt(3, 1).mark, MARK.queued);
  assert.deepEqual([...history.append([entry(2, 3, 4, [4, MARK.running, 1, -1, -1])])], [4]);
  assert.deepEqual([...history.touchedBetween(0, 2)], [0, 4]);
});

test("a replay sees the items as they were", () => {
  const history = historyWithItems();
  assert.deepEqual([1, 3, 4].map((position) => history.stepAt(2, position).mark), [MARK.queued, MARK.running, MARK.failed]);
  assert.equal(history.items.at(0, 1), null);
});

test("the worst items come first, and of one status in their order", () => {
  const keys = { 2: "checkpoint_ready", 3: "failed", 4: "queued", 5: "running", 6: "failed" };
  const markOf = (place) => ({ key: keys[place] });
  assert.deepEqual(rankedItems([2, 3, 4, 5, 6], markOf, VOCABULARY.marks), [3, 6, 5, 2, 4]);
});

test("items are found by name, by number and by status", () => {
  const names = new Map([[2, "Alpha.csv"], [3, "beta.csv"], [4, "x13.csv"]]);
  const options = { markOf: (place) => ({ key: place === 3 ? "failed" : "queued" }), nameOf: (place) => names.get(place), numberOf: (place) => place + 10 };
  const found = (words, key = null) => foundItems([2, 3, 4], { ...options, words, key });
  assert.deepEqual([found(""), found("ALPHA"), found("13"), found("size@13"), found("", "failed"), found("alpha", "failed")], [[2, 3, 4], [2], [3, 4], [3], [3], []]);
});

test("cells are as large as their number lets them be", () => {
  assert.deepEqual(layOut(40, 400), { size: 20, columns: 20, height: 40 });
  assert.deepEqual(layOut(10_000, 800), { size: 8, columns: 100, height: 800 });
  assert.equal(layOut(3, 5).columns, 1);
  assert.equal(layOut(0, 400).height, 0);
});

test("a box says how many of its items are ready", () => {
  const mark = (key, tone = "idle") => ({ key, tone });
  const store = (counts) => ({ scene: { kinds: ["shell"] }, plannedItems: () => [null, "steps.find.output"], itemCounts: () => counts, moment: 9000, history: { startedAt: () => 4000 } });
  const caption = (counts, key) => boxCaption(store(counts), 0, mark(key), { elapsed: 1500, attempt: 1 });
  assert.equal(caption([], "queued").left, "× ?");
  assert.equal(caption([[mark("queued"), 1200]], "queued").left, "× 1,200");
  const running = caption([[mark("checkpoint_ready", "ready"), 3], [mark("failed", "bad"), 1], [mark("queued"), 4]], "running");
  assert.deepEqual([running.left, running.right], ["3 of 8, 1 ✗", "5 s"]);
});

test("the attempts of all items are one bar in the row of their step, which ends with its own attempt", () => {
  const items = new ItemLists(2);
  items.expand(0, 0, [0, 3]);
  const intervals = new Intervals({ ids: ["a", "b"], needs: [[], [0]], items }, MARK);
  const courses = new Courses();
  let index = 0;
  const add = (kind, at, step, changes = [], details = []) => {
    courses.add(index, kind, at);
    intervals.add(index, kind, at, step, changes, details, courses);
    index += 1;
  };
  add("run_started", 0, -1);
  for (const place of [2, 3]) add("step_scheduled", 100, place, [place, MARK.starting, 1, -1, -1], [1]);
  add("attempt_ended", 900, 2, [], [1, MARK.failed, 800]);
  add("step_scheduled", 1000, 0, [], [1]);
  add("attempt_started", 1000, 0, [], [1]);
  add("attempt_ended", 1010, 0, [], [1, MARK.ended, 10]);
  add("checkpoint_decided", 1010, 0, [0, MARK.checkpoint_ready, 1, 10, -1], [1, MARK.checkpoint_ready, 0]);
  const runs = intervals.of[0].filter(({ kind }) => kind === "run");
  assert.deepEqual(runs.map(({ from, to, attempt, verdict }) => [from, to, attempt, verdict]), [[100, 1010, 1, MARK.checkpoint_ready]]);
  assert.deepEqual([intervals.of.length, intervals.rows.size], [2, 1]);
});
