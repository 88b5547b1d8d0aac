// Keyboard shortcuts: each follows a link on the page. They are inactive while the user types, with Ctrl, Alt or
// Meta, and when switched off.
"use strict";

(() => {
  const CHORD_MS = 1500;
  const KEPT = "fonds.keys";
  const ROWS = "main li.hit, main .rows > li, main tbody tr";
  const TYPED = "input, textarea, select, [contenteditable]";
  const FIXED = [
    ["/", "Go to search"],
    ["?", "Show shortcuts"],
    ["j", "Next row"],
    ["k", "Previous row"],
    ["Enter", "Open row"],
  ];

  const footer = document.querySelector("footer .links");
  if (!footer) {
    return;
  }

  let isOn = true;
  try {
    isOn = localStorage.getItem(KEPT) !== "off";
  } catch {
    // Without storage, shortcuts are on and can be switched off for this page only.
  }
  let begun = "";
  let pause = 0;

  // Elements in a closed part of the page do not count as visible.
  const seen = (element) => element.checkVisibility();
  const words = (element) => (element.getAttribute("aria-label") || element.textContent).trim();

  // Targets on this page by key; the first one wins.
  function targets() {
    const found = new Map();
    const put = (key, element) => {
      if (element && seen(element) && !found.has(key)) {
        found.set(key, element);
      }
    };
    for (const one of document.querySelectorAll("[data-key]")) {
      put(one.dataset.key, one);
    }
    put("[", document.querySelector("main a[rel=prev]"));
    put("]", document.querySelector("main a[rel=next]"));
    return found;
  }

  function rows() {
    const links = Array.from(document.querySelectorAll(ROWS), (row) => Array.from(row.querySelectorAll("a[href]")).find(seen));
    return links.filter(Boolean);
  }

  function move(step) {
    const links = rows();
    const row = document.activeElement.closest(ROWS);
    const at = row ? links.findIndex((link) => row.contains(link)) : -1;
    const next = at < 0 && step < 0 ? links.length - 1 : at + step;
    if (links[next]) {
      links[next].focus();
      links[next].scrollIntoView({ block: "nearest" });
    }
  }

  function goToBox() {
    const box = document.querySelector("#q");
    if (box && seen(box)) {
      box.focus();
      box.select();
    } else {
      location.assign("/search#q");
    }
  }

  function made(name, text = "") {
    const element = document.createElement(name);
    element.textContent = text;
    return element;
  }

  function line(key, meaning) {
    const item = made("div");
    const keys = made("dt");
    key.split(" ").forEach((one, at) => keys.append(at ? " " : "", made("kbd", one)));
    item.append(keys, made("dd", meaning));
    return item;
  }

  const dialog = made("dialog");
  dialog.className = "keys";
  dialog.setAttribute("aria-labelledby", "keys-head");
  dialog.addEventListener("close", () => dialog.remove());

  function show() {
    const head = made("h2", "Keyboard shortcuts");
    head.id = "keys-head";
    const list = made("dl");
    const linked = Array.from(targets(), ([key, element]) => [key, words(element)]);
    list.append(...[...FIXED, ...linked].map(([key, meaning]) => line(key, meaning)));
    const label = made("label");
    const box = made("input");
    box.type = "checkbox";
    box.checked = isOn;
    box.addEventListener("change", () => turn(box.checked));
    label.append(box, " Enable shortcuts");
    const close = made("button", "Close");
    close.addEventListener("click", () => dialog.close());
    const form = made("p");
    form.append(label, " ", close);
    dialog.replaceChildren(head, list, form);
    document.body.append(dialog);
    dialog.showModal();
  }

  function turn(on) {
    isOn = on;
    try {
      localStorage.setItem(KEPT, on ? "on" : "off");
    } catch {
      // Without storage, the choice applies to this page only.
    }
  }

  function pressed(key) {
    const chord = begun ? `${begun} ${key}` : key;
    begun = "";
    clearTimeout(pause);
    const doing = { "/": goToBox, "?": show, j: () => move(1), k: () => move(-1) }[chord];
    if (doing) {
      doing();
      return true;
    }
    const found = targets();
    if (found.has(chord)) {
      found.get(chord).click();
      return true;
    }
    if (Array.from(found.keys()).some((one) => one.startsWith(`${chord} `))) {
      begun = chord;
      pause = setTimeout(() => (begun = ""), CHORD_MS);
      return true;
    }
    return false;
  }

  document.addEventListener("keydown", (event) => {
    const isTyped = event.target instanceof Element && event.target.closest(TYPED);
    const isOthers = event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented;
    if (!isOn || isTyped || isOthers || dialog.open || event.key.length !== 1) {
      return;
    }
    if (pressed(event.key)) {
      event.preventDefault();
    }
  });

  if (location.hash === "#q") {
    goToBox();
  }
  const button = made("button", "Keyboard shortcuts");
  button.className = "as-link";
  button.type = "button";
  button.addEventListener("click", show);
  footer.append(" ", button);
})();
