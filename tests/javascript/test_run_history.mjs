import assert from "node:assert/strict";
import { test } from "node:test";

import { dependentsOf, RunHistory } from "../../pixirnb/notebook/static/state/run_history.js";
import { chainTape, MARK } from "./tapes.mjs";

function historyOf(entries, steps = 2) {
  const history = new RunHistory(steps, MARK.queued);
  history.append(entries);
  return history;
}

test("appending tells which steps changed", () => {
  const { entries } = chainTape();
  const history = new RunHistory(2, MARK.queued);
  assert.deepEqual([...history.append(entries.slice(0, 1))], []);
  assert.deepEqual([...history.append(entries.slice(1, 6))], [0, 1]);
  assert.equal(history.length, 6);
});

test("a step is at every position as its last change before it says", () => {
  const { entries } = chainTape();
  const history = historyOf(entries);
  const marks = [...Array(history.length + 1).keys()].map((position) => history.stepAt(0, position).mark);
  const { queued, starting, running, ended, checkpoint_ready: ready } = MARK;
  assert.deepEqual(marks, [queued, queued, starting, running, ended, ready, ready, ready, ready, ready, ready]);
});

test("the search among many changes finds what a walk finds", () => {
  const entries = Array.from({ length: 200 }, (_, n) => [n + 1, n, 0, 0, n % 3 ? [] : [0, n % 7, n, -1, -1], "", []]);
  const history = historyOf(entries, 1);
  let attempt = 0;
  for (let position = 0; position <= entries.length; position += 1) {
    if (position && (position - 1) % 3 === 0) attempt = position - 1;
    assert.equal(history.stepAt(0, position).attempt, attempt, `at ${position}`);
  }
});

test("status, time and number are those of the last entry before a position", () => {
  const history = historyOf(chainTape().entries);
  assert.deepEqual([0, 5, 9, 10, 99].map((position) => history.statusAt(position)), ["running", "running", "running", "completed", "completed"]);
  assert.deepEqual([0, 1, 4, 10, 99].map((position) => history.timeAt(position)), [0, 0, 1000, 3000, 3000]);
  assert.deepEqual([0, 1, 10, 99].map((position) => history.seqAt(position)), [0, 1, 10, 10]);
});

test("a step looks as it does since the entry that changed it", () => {
  const history = historyOf(chainTape().entries);
  assert.equal(history.startedAt(history.stepAt(1, 7)), 1000);
  assert.equal(history.startedAt(history.stepAt(1, 10)), 3000);
  assert.equal(history.startedAt(history.stepAt(1, 0)), 0);
});

test("a change of a step that is not there is passed over", () => {
  assert.deepEqual([...historyOf([[1, 0, 0, 5, [5, 1, 1, -1, -1], "", []]], 1).append([])], []);
});

test("dependents are needs read backwards", () => {
  assert.deepEqual(dependentsOf([[], [0], [0, 1], []]), [[1, 2], [2], [], []]);
});

test("the position at a moment is what had happened by then", () => {
  const history = historyOf(chainTape().entries);
  assert.deepEqual([-1, 0, 999, 1000, 2999, 3000, 9999].map((at) => history.positionAt(at)), [0, 3, 3, 7, 7, 10, 10]);
});

test("between two positions those steps differ that changed between them, in either direction", () => {
  const history = historyOf(chainTape().entries);
  assert.deepEqual([[...history.touchedBetween(2, 6)], [...history.touchedBetween(6, 2)], [...history.touchedBetween(3, 3)]], [[0, 1], [0, 1], []]);
});
