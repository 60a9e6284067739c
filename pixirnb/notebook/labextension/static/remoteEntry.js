// What only code in the front-end can do: it colors the body of `%%workflow` cells as YAML, in JupyterLab 4 and Notebook 7, and opens
// a live view in a tab of JupyterLab. A container of module federation, written by hand: nothing is built. It asks only for modules
// that the front-end shares, and does nothing where one of them is missing. docs/adr/0033-yaml-in-workflow-cells.md

"use strict";

(() => {
  const MAGIC = /^\s*%%workflow(?:\s|$)/;
  const OPEN = "notebook:create-output-view";
  const HEAD = 200; // characters in which the magic is looked for
  let shared = {};

  /** A module that the front-end shares, newest version first; undefined where it shares none. */
  async function sharedModule(name) {
    const versions = Object.entries(shared[name] ?? {}).sort(([a], [b]) => b.localeCompare(a, undefined, { numeric: true }));
    if (!versions.length) return undefined;
    const [, { get }] = versions.find(([, { loaded }]) => loaded) ?? versions[0];
    const factory = await get();
    return factory();
  }

  const isWorkflow = (doc) => MAGIC.test(doc.sliceString(0, HEAD));

  /** The extension of every editor of a cell: YAML above the language of the notebook, while the cell begins with the magic. */
  function workflowLanguage({ Compartment, Prec }, { ViewPlugin }, loadYaml) {
    const slot = new Compartment();

    class WorkflowLanguage {
      constructor(view) {
        this.view = view;
        this.isYaml = false;
        this.look();
      }

      update({ docChanged }) {
        if (docChanged) this.look();
      }

      destroy() {
        this.view = null;
      }

      async look() {
        if (isWorkflow(this.view.state.doc) === this.isYaml) return;
        const yaml = await loadYaml(); // an editor takes no change while it makes one: by now it is done
        if (!this.view || !yaml) return;
        const isYaml = isWorkflow(this.view.state.doc);
        if (isYaml === this.isYaml) return;
        this.isYaml = isYaml;
        this.view.dispatch({ effects: slot.reconfigure(isYaml ? Prec.highest(yaml) : []) });
      }
    }
    return [slot.of([]), ViewPlugin.fromClass(WorkflowLanguage)];
  }

  async function coloring() {
    const names = ["@jupyterlab/codemirror", "@codemirror/state", "@codemirror/view"];
    const [codemirror, state, view] = await Promise.all(names.map(sharedModule));
    const { IEditorExtensionRegistry, IEditorLanguageRegistry } = codemirror ?? {};
    if (!IEditorExtensionRegistry || !IEditorLanguageRegistry || !state?.Compartment || !view?.ViewPlugin) return [];
    return [
      {
        id: "pixirnb:workflow-cells",
        description: "Colors the body of %%workflow cells as YAML.",
        autoStart: true,
        optional: [IEditorExtensionRegistry, IEditorLanguageRegistry],
        activate(app, extensions, languages) {
          if (!extensions || !languages) return;
          let yaml;
          const warn = (error) => console.warn("pixirnb: workflow cells are not colored as YAML", error);
          const loadYaml = () => (yaml ??= languages.getLanguage("yaml").then((language) => language?.support).catch(warn));
          const extension = workflowLanguage(state, view, loadYaml);
          extensions.addExtension({
            name: "pixirnb-workflow-cells",
            factory: ({ inline }) => (inline ? { instance: () => extension, reconfigure: () => null } : null),
          });
        },
      },
    ];
  }

  /** A live view asks by an event on its way up; the focus has made its cell the active one. Its button shows where the page is marked. */
  const tabs = {
    id: "pixirnb:tabs",
    description: "Opens the output of a cell in a tab.",
    autoStart: true,
    activate({ name, commands, restored }) {
      // Other plugins have added their commands by then. It waits for this one in its turn.
      restored.then(() => {
        if (name !== "JupyterLab" || !commands.hasCommand(OPEN)) return; // Notebook 7 has no place for a second tab
        document.body.dataset.pixirnbTabs = "";
        document.body.addEventListener("pixirnb-open-in-tab", () => commands.execute(OPEN));
      });
    },
  };

  (globalThis._JUPYTERLAB ??= {}).pixirnb = {
    init(scope) {
      shared = scope;
    },
    async get(module) {
      if (module !== "./extension") throw new Error(`unknown module ${module}`);
      const found = { __esModule: true, default: [...(await coloring()), tabs] };
      return () => found;
    },
  };
})();
