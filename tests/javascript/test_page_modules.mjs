import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

import load from "../../pixirnb/notebook/static/loader.js";
import { providePageModule } from "../../pixirnb/notebook/static/state/page_modules.js";
import { Clock } from "./clock.mjs";

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

test("a page that has no module asks for it, and loads what comes", async () => {
  const { model, listeners } = opened("missed");
  const widget = load();
  const clock = new Clock();
  try {
    widget.initialize({ model });
    clock.pass(2_000);
  } finally {
    clock.restore();
  }
  assert.deepEqual(model.sent, [{ ask: "module" }]);

  document.head = document.createElement("head");
  const createObjectURL = URL.createObjectURL;
  URL.createObjectURL = () => `data:text/javascript,${encodeURIComponent(MODULE)}`; // node imports no blobs
  try {
    listeners.get("msg:custom")({ module: MODULE, style: "p {}" });
    assert.equal(await widget.render({ model, el: "" }), "drawn");
  } finally {
    URL.createObjectURL = createObjectURL;
  }
  assert.equal(document.head.textContent, "p {}");
});

const MODULE = `export default { initialize({ model }) {
  globalThis[Symbol.for("pixirnb.page_modules.1")].get(model.get("module")).resolve(() => ({ initialize() {}, render: () => "drawn" }));
} };`;
