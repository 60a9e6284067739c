// A widget's model as the page sees it: traits, what is sent to the kernel, what comes from there.

import { VOCABULARY } from "./tapes.mjs";

export class Model {
  constructor(traits) {
    this.traits = { look: VOCABULARY, past: [], pulse: {}, head: { live: "", status: "completed", now: 3000, sentence: "All is ready." }, ...traits };
    this.sent = [];
    this.listeners = new Map();
  }

  get(name) {
    return this.traits[name];
  }

  on(name, listener) {
    this.listeners.set(name, listener);
  }

  set(name, value) {
    this.traits[name] = value;
    this.listeners.get(`change:${name}`)();
  }

  receive(message) {
    this.listeners.get("msg:custom")(message);
  }

  send(message) {
    if (this.isGone) throw new Error("gone");
    this.sent.push(message);
  }
}
