import assert from "node:assert/strict";
import { mock, test } from "node:test";
import "./page.mjs";

import load from "../../pixirnb/notebook/static/loader.js";
import { providePageModule } from "../../pixirnb/notebook/static/state/page_modules.js";

/** A widget's model, and the page's module that writes down what it is handed. */
function opened(digest) {
  const listeners = new Map();
  const model = { get: () => digest, on: (name, act) => listeners.set(name, act), off: (name) => listeners.delete(name), sent: [], send: (message) => model.sent.push(message) };
  const told = [];
  const makeWidget = () => ({
    initialize({ early }) {
      told.push(["initialize", [...early]]);
      return () => told.push(["dispose"]);
    },
    render: ({ el }) => told.push(["render", el]),
  });
  return { model, listeners, told, makeWidget, provide: () => providePageModule(digest, makeWidget) };
}

test("a run's widget is drawn whichever comes first, it or the module of the page", async () => {
  for (const isModuleFirst of [true, false]) {
    const { model, listeners, told, provide } = opened(`digest ${isModuleFirst}`);
    if (isModuleFirst) provide();
    const widget = load();
    const dispose = widget.initialize({ model });
    listeners.get("msg:custom")({ tape: 1 });
    const drawn = widget.render({ model, el: "here" });
    if (!isModuleFirst) provide();
    await drawn;
    assert.deepEqual(told, [["initialize", [{ tape: 1 }]], ["render", "here"]]);
    assert.equal(listeners.has("msg:custom"), false);
    dispose();
    assert.deepEqual(told.at(-1), ["dispose"]);
    assert.deepEqual(model.sent, []);
  }
});

test("versions of the module do not meet", async () => {
  const [older, newer] = [opened("older"), opened("newer")];
  for (const { model, provide } of [older, newer]) {
    provide();
    const widget = load();
    widget.initialize({ model });
    await widget.render({ model, el: "" });
  }
  for (const { told } of [older, newer]) assert.equal(told.length, 2);
});

test("a page that has no module asks for it", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { model } = opened("missed");
    const dispose = load().initialize({ model });
    mock.timers.tick(2_000);
    assert.deepEqual(model.sent, [{ ask: "module" }]);
    dispose();
  } finally {
    mock.timers.reset();
  }
});
