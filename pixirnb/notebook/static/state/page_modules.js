// The module that draws runs, once a page: one widget of a kernel brings it, the widgets of runs wait for it. Modules are known by
// their digest, so kernels with different versions of pixirnb can share a page; whichever side comes first waits for the other.

const PAGE = Symbol.for("pixirnb.page_modules.1");

function moduleSlot(digest) {
  const slots = (globalThis[PAGE] ??= new Map());
  if (!slots.has(digest)) {
    const slot = {};
    slot.made = new Promise((resolve) => Object.assign(slot, { resolve }));
    slots.set(digest, slot);
  }
  return slots.get(digest);
}

/** Resolves to what was provided under this digest, once it is. */
export function requirePageModule(digest) {
  return moduleSlot(digest).made;
}

export function providePageModule(digest, module) {
  moduleSlot(digest).resolve(module);
}
