// Colors the body of `%%workflow` cells as YAML, in JupyterLab 4 and Notebook 7. A container of module federation, written by hand:
// nothing is built. It asks only for modules that the front-end shares, and does nothing where one of them is missing.
// docs/adr/0033-yaml-in-workflow-cells.md

"use strict";

(() => {
  const MAGIC = /^\s*%%workflow(?:\s|$)/;
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

  async function plugins() {
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

  (globalThis._JUPYTERLAB ??= {}).pixirnb = {
    init(scope) {
      shared = scope;
    },
    async get(module) {
      if (module !== "./extension") throw new Error(`unknown module ${module}`);
      const found = { __esModule: true, default: await plugins() };
      return () => found;
    },
  };
})();
