import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

createRequire(import.meta.url)("../../pixirnb/notebook/labextension/static/remoteEntry.js");
const container = globalThis._JUPYTERLAB.pixirnb;

const YAML = { name: "yaml" };

class Compartment {
  of = (extension) => ({ slot: this, extension });
  reconfigure = (extension) => ({ reconfigured: extension });
}

/** What a front-end shares, as module federation keeps it: by name and version. */
function sharing(modules) {
  return Object.fromEntries(Object.entries(modules).map(([name, module]) => [name, { "4.0.0": { get: async () => () => module } }]));
}

const LAB = {
  "@jupyterlab/codemirror": { IEditorExtensionRegistry: "extensions", IEditorLanguageRegistry: "languages" },
  "@codemirror/state": { Compartment, Prec: { highest: (extension) => ({ highest: extension }) } },
  "@codemirror/view": { ViewPlugin: { fromClass: (plugin) => plugin } },
};

async function plugins(modules) {
  container.init(sharing(modules));
  const factory = await container.get("./extension");
  return factory().default;
}

const colorings = async (modules) => (await plugins(modules)).filter(({ id }) => id === "pixirnb:workflow-cells");

/** The extension that an activated plugin registers, and how often YAML was loaded. */
async function activated(getLanguage = async () => ({ support: YAML })) {
  const [plugin] = await colorings(LAB);
  const found = { loads: 0 };
  const languages = { getLanguage: (name) => (assert.equal(name, "yaml"), (found.loads += 1), getLanguage()) };
  plugin.activate(null, { addExtension: (extension) => Object.assign(found, extension) }, languages);
  return found;
}

/** An editor with a text: what its language was changed to. */
function editor(extension, text) {
  const view = { changes: [], state: {}, dispatch: ({ effects }) => view.changes.push(effects.reconfigured) };
  const [, Plugin] = extension.factory({ inline: true }).instance();
  view.type = async (words) => {
    view.state.doc = { sliceString: (from, to) => words.slice(from, to) };
    if (view.plugin) view.plugin.update({ docChanged: true });
    else view.plugin = new Plugin(view);
    await new Promise(setImmediate);
  };
  return view.type(text).then(() => view);
}

const settled = [{ highest: YAML }];

test("a workflow cell is YAML, from its opening on", async () => {
  const found = await activated();
  for (const text of ["%%workflow x\nname: y", "%%workflow", "\n\n%%workflow x --run\n"]) assert.deepEqual((await editor(found, text)).changes, settled, text);
  assert.equal(found.loads, 1);
});

test("other cells keep their language, and load nothing", async () => {
  const found = await activated();
  for (const text of ["", "x = 1", "%%workflows", "%%step a\nand", "# %%workflow", "%workflow", `${" ".repeat(300)}%%workflow`]) assert.deepEqual((await editor(found, text)).changes, [], text);
  assert.equal(found.loads, 0);
  assert.equal(found.factory({ inline: false }), null);
});

test("the language follows the first line", async () => {
  const found = await activated();
  const view = await editor(found, "x");
  await view.type("%%workflow a");
  await view.type("%%workflow ab");
  view.plugin.update({ docChanged: false });
  await view.type("and");
  assert.deepEqual(view.changes, [{ highest: YAML }, []]);
});

test("a cell that is gone, or another one by then, is left alone", async () => {
  let deliver;
  const found = await activated(() => new Promise((resolve) => (deliver = () => resolve({ support: YAML }))));
  const [gone, changed] = [await editor(found, "%%workflow a"), await editor(found, "%%workflow a")];
  gone.plugin.destroy();
  await changed.type("x");
  deliver();
  await new Promise(setImmediate);
  assert.deepEqual([gone.changes, changed.changes], [[], []]);
});

test("without YAML nothing is colored, and nothing fails", async () => {
  const { warn } = console;
  const warnings = [];
  console.warn = (...words) => void warnings.push(words);
  try {
    const broken = await activated(() => Promise.reject(new Error("offline")));
    assert.deepEqual((await editor(broken, "%%workflow a")).changes, []);
  } finally {
    console.warn = warn;
  }
  assert.equal(warnings.length, 1);
  assert.deepEqual((await editor(await activated(async () => null), "%%workflow a")).changes, []);
});

test("a front-end that lacks a module or a service gets no plugin, or one that does nothing", async () => {
  for (const name of Object.keys(LAB)) {
    const { [name]: _, ...others } = LAB;
    assert.deepEqual([await colorings(others), await colorings({ ...LAB, [name]: {} })], [[], []], name);
  }
  assert.deepEqual(await colorings({}), []);
  const [plugin] = await colorings(LAB);
  assert.deepEqual(plugin.optional, ["extensions", "languages"]);
  plugin.activate(null, null, {});
  plugin.activate(null, { addExtension: () => assert.fail() }, null);
});

test("the newest version is taken, unless another is in use", async () => {
  const taken = [];
  const version = (name, loaded) => ({ loaded, get: async () => (taken.push(name), () => ({})) });
  container.init({ "@codemirror/view": { "6.9.0": version("6.9.0"), "6.36.2": version("6.36.2") }, "@codemirror/state": { "6.1.0": version("used", 1), "6.5.0": version("unused") } });
  await container.get("./extension");
  assert.deepEqual(taken.sort(), ["6.36.2", "used"]);
});

test("a view opens in a tab where the front-end has one for it, and the page is marked only there", async (t) => {
  const [tabs] = (await plugins({})).filter(({ id }) => id === "pixirnb:tabs");
  const opened = [];
  const page = Object.assign(new EventTarget(), { dataset: {} });
  globalThis.document = { body: page };
  t.after(() => delete globalThis.document);
  const commands = (known) => ({ hasCommand: (command) => command === known, execute: (command) => opened.push(command) });
  const OPEN = "notebook:create-output-view";
  const start = async (name, known) => {
    // An application is restored once every plugin is there.
    let restore;
    await tabs.activate({ name, commands: commands(known), restored: new Promise((resolve) => (restore = resolve)) });
    restore();
    await new Promise(setImmediate);
    page.dispatchEvent(new Event("pixirnb-open-in-tab"));
  };

  await start("JupyterLab", "another");
  await start("Jupyter Notebook", OPEN);
  assert.deepEqual([page.dataset, opened], [{}, []]);
  await start("JupyterLab", OPEN);
  assert.deepEqual([page.dataset, opened], [{ pixirnbTabs: "" }, [OPEN]]);
});

test("an unknown module is an error, as in every container", async () => {
  await assert.rejects(container.get("./other"), /unknown module/);
});
