import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { describeStep } from "../../pixirnb/notebook/static/graph/step_boxes.js";
import { matchingSteps } from "../../pixirnb/notebook/static/graph/step_search.js";
import { labelOf, labelsOf, nameOf, workflowNameOf } from "../../pixirnb/notebook/static/state/step_names.js";

const scene = { ids: ["fetch", "plain"], titles: ["Загрузка данных", ""], kinds: ["shell", "shell"], isolated: [false, false] };

test("a step is called by its title, with its id where a command needs it", () => {
  assert.deepEqual([nameOf(scene, 0), labelOf(scene, 0)], ["Загрузка данных", "Загрузка данных (fetch)"]);
  assert.deepEqual([nameOf(scene, 1), labelOf(scene, 1)], ["plain", "plain"]);
  assert.deepEqual([nameOf({ ids: ["a"] }, 0), labelOf({ ids: ["a"] }, 0)], ["a", "a"]);
});

test("a workflow is called by its title", () => {
  assert.deepEqual([workflowNameOf({ workflow: "market", workflow_title: "Обзор" }), workflowNameOf({ workflow: "market" })], ["Обзор", "market"]);
});

test("ids of another plan stay as they are", () => {
  const store = { scene, stepOf: new Map([["fetch", 0], ["plain", 1]]) };
  assert.deepEqual(labelsOf(store, ["plain", "gone", "fetch"]), ["plain", "gone", "Загрузка данных (fetch)"]);
});

test("a step is found by a part of its title or its id", () => {
  assert.deepEqual(["ДАННЫХ", "fet", "x"].map((words) => matchingSteps(scene, words)), [[0], [0], []]);
});

test("a tooltip has title and id, of the step and of what holds it", () => {
  const words = describeStep({ scene }, 1, { word: "held" }, { attempt: 0, holder: 0 }, { left: "shell", right: "", fraction: null });
  assert.equal(words, "plain: held, held by Загрузка данных (fetch), shell step");
  const own = describeStep({ scene }, 0, { word: "ready" }, { attempt: 1, holder: -1 }, { left: "shell", right: "2 s", fraction: null });
  assert.equal(own, "Загрузка данных (fetch): ready, shell step, 2 s");
});
