// Questions of a page to the kernel of its widget, and the answers that come back.

const ANSWER_TIMEOUT_MS = 20_000;

// A widget's answers reach all who ask through it: the buttons of a plan, the view of its run, and the widget's other pages.
const ASKER = Math.random().toString(36).slice(2);
let lastId = 0;

export class Questions {
  /** `onGone` is called where nothing can be sent: the kernel of this page was restarted, nobody listens. */
  constructor(model, onGone) {
    this.model = model;
    this.onGone = onGone;
    this.pendingAnswers = new Map();
  }

  /** Ask a question or for an action; resolves to the kernel's message, or to an error of the same shape. */
  ask(message) {
    const id = `${ASKER}-${(lastId += 1)}`;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.pendingAnswers.delete(id);
        resolve({ ok: false, error: KERNEL_SILENT });
      }, ANSWER_TIMEOUT_MS);
      this.pendingAnswers.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      if (this.send({ id, ...message })) return;
      this.pendingAnswers.get(id)({ ok: false, error: KERNEL_SILENT });
      this.pendingAnswers.delete(id);
    });
  }

  /** Send a message that nobody waits for; whether it could be sent. */
  send(message) {
    try {
      this.model.send(message);
      return true;
    } catch {
      this.onGone();
      return false;
    }
  }

  /** Take the kernel's message, if it is an answer. */
  take(message) {
    if (!("re" in message)) return;
    const answered = this.pendingAnswers.get(message.re);
    this.pendingAnswers.delete(message.re);
    answered?.(message);
  }
}

const KERNEL_SILENT = {
  code: "kernel_silent",
  message: "The kernel does not respond: it is busy with a cell or disconnected.",
  fix: "Reload when it is idle; after a restart, run the cell that shows this run.",
};
