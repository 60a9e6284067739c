// What anywidget loads for the widget of each run: it hands over to the module of the page, which comes with a widget of its own. Until
// that is there, messages of the kernel are kept. A page that was not there when it was sent, or does not show it to this output,
// asks for it.

import { requirePageModule } from "./state/page_modules.js";

const ASK_AFTER_MS = 2_000;

export default () => {
  let loaded = null;
  return {
    initialize({ model }) {
      const early = [];
      const take = (message) => (message.module ? loadPageModule(model, message) : early.push(message));
      const asking = setTimeout(() => model.send({ ask: "module" }), ASK_AFTER_MS);
      let isOver = false;
      let dispose = () => {};
      model.on("msg:custom", take);
      loaded = requirePageModule(model.get("module")).then((makeWidget) => {
        clearTimeout(asking);
        model.off("msg:custom", take);
        const widget = makeWidget();
        if (!isOver) dispose = widget.initialize({ model, early });
        return widget;
      });
      return () => {
        isOver = true;
        clearTimeout(asking);
        dispose();
      };
    },
    async render(given) {
      const widget = await loaded;
      return widget.render(given);
    },
  };
};

/** Load the module of the page as anywidget does. */
async function loadPageModule(model, { module, style }) {
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const { default: page } = await import(url);
  URL.revokeObjectURL(url);
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  page.initialize({ model: { get: () => model.get("module") } });
}
