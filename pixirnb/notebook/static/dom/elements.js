// Nodes of a page. Text goes in as text and nothing is ever parsed as markup but the shapes that ship with the package.
// Attribute names and classes are words of ours alone; run data stands only in text and in values that cannot act.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function populate(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An HTML element: `h("button", { class: "pixirnb-button", on: { click } }, "Cancel")`. */
export function h(tag, attributes, ...children) {
  return populate(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return populate(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

const PARSED_SHAPES = new Map();

/** The nodes of one of the package's own shapes, fresh copies each time. */
export function shapeNodes(markup) {
  if (!PARSED_SHAPES.has(markup)) {
    const text = `<svg xmlns="${SVG_NAMESPACE}">${markup}</svg>`;
    const page = new DOMParser().parseFromString(text, "image/svg+xml");
    PARSED_SHAPES.set(markup, [...page.documentElement.children]);
  }
  return PARSED_SHAPES.get(markup).map((child) => document.importNode(child, true));
}

/** A mark's shape as a small picture of its own, silent for readers: its word stands beside it. */
export function icon(mark, size = 14) {
  return s(
    "svg",
    {
      class: `pixirnb-icon pixirnb-${mark.tone}`,
      width: size,
      height: size,
      viewBox: "0 0 16 16",
      "aria-hidden": "true",
    },
    shapeNodes(mark.shape),
  );
}

/** Whether a button cannot be pressed now. */
export function isDisabled(element) {
  return element.disabled || element.getAttribute("aria-disabled") === "true";
}

/** A button that shows words. `pressed` makes it a switch. */
export function button(words, click, { title = null, pressed = null, kind = "", disabled = false } = {}) {
  return h(
    "button",
    {
      type: "button",
      class: `pixirnb-button ${kind}`.trim(),
      title,
      "aria-pressed": pressed === null ? null : String(pressed),
      disabled,
      on: { click: (event) => isDisabled(event.currentTarget) || click(event) },
    },
    words,
  );
}

/** Put `children` in the place of what an element held, without touching it where nothing changed. */
export function setChildren(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an element's text where it differs. */
export function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** Set a style where it differs: to set an equal one, or to read one back, makes the browser lay the page out again. */
export function setStyle(element, property, value) {
  element.styles ??= {};
  if (element.styles[property] === value) return;
  element.styles[property] = value;
  element.style.setProperty(property, value);
}

/** Do what a key stands for, by its name, and keep it from the notebook, which has keys of its own. */
export function handleKey(event, actions) {
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

/** Zoom by Ctrl and the wheel, or a pinch: `zoom(factor, [x, y])`, the point in pixels of `frame`. The wheel alone is left to `other`, or the page. */
export function zoomOnWheel(frame, zoom, other = null) {
  const onWheel = (event) => {
    if (!(event.ctrlKey || event.metaKey)) {
      other?.(event);
      return;
    }
    event.preventDefault();
    const { left, top } = frame.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.004), [event.clientX - left, event.clientY - top]);
  };
  frame.addEventListener("wheel", onWheel, { passive: false });
}
