/* A page that is opened as a file may start no worker, and the search needs one: an empty frame runs its script instead.
   The search completes each word: `a` of `exclude a pod` found `acts` and `API`. It leaves out what a `-` precedes: `--eviction-hard`
   found nothing. */
"use strict";

const QUERY = 2;

function asMeant(message) {
  if (message.type !== QUERY) return message;
  const words = message.data.replace(/\b(?:a|an|the|of|to|in|on|is|it)\s+/gi, "");
  return { ...message, data: words.replace(/(^|\s)--(?=\w)/g, "$1flag*^100 ") };
}

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #inside = new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => resolve(frame.contentWindow), { once: true });
      document.body.append(frame);
    });

    constructor(url) {
      super();
      this.#inside = this.#inside.then((inside) => {
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inside.document.createElement("script");
        script.src = url;
        const run = new Promise((resolve) => script.addEventListener("load", () => resolve(inside)));
        inside.document.head.append(script);
        return run;
      });
    }

    postMessage(data) {
      this.#inside.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data: asMeant(data) })),
      );
    }
  };
} else {
  window.Worker = class extends Worker {
    postMessage(data) {
      super.postMessage(asMeant(data));
    }
  };
}
