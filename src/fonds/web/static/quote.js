// Link from selected text to its citation. The citation page also accepts typed or pasted text.
"use strict";

(() => {
  const LONGEST = 2000;

  const way = document.createElement("a");
  way.className = "quote button";
  way.dataset.key = "c";
  way.textContent = "Cite quote";

  // Return the text that contains the whole selection, null if the selection extends beyond it.
  function quotedIn(selection) {
    const inside = (node) => (node instanceof Element ? node : node?.parentElement)?.closest("[data-cite]");
    const text = inside(selection.anchorNode);
    return text && text === inside(selection.focusNode) ? text : null;
  }

  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    const text = quotedIn(selection);
    const words = text ? selection.toString().replace(/\s+/g, " ").trim() : "";
    if (words && words.length <= LONGEST) {
      way.href = text.dataset.cite + encodeURIComponent(words);
      text.after(way);
    } else if (document.activeElement !== way) {
      way.remove();
    }
  });
})();
