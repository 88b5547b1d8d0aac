// Completion of fields and their values at the cursor of the search box, following the ARIA combobox pattern.
// Without this script the search page shows the same values as links.
"use strict";

(() => {
  const PAUSE_MS = 150;
  const box = document.getElementById("q");
  if (!box || !box.form) {
    return;
  }

  const made = (name, attributes) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    return element;
  };
  const panel = made("div", { class: "offered", hidden: "" });
  const list = made("ul", { id: "offered", role: "listbox", "aria-label": "Completions" });
  const more = made("p", { class: "why" });
  const form = made("p", { class: "why form" });
  const told = made("div", { class: "off", role: "status" });
  panel.append(list, more);
  box.parentElement.append(panel);
  box.parentElement.after(form, told);

  // ARIA allows a list box for inputs of type text, but not of type search.
  box.type = "text";
  box.enterKeyHint = "search";
  const states = { role: "combobox", "aria-autocomplete": "list", "aria-controls": "offered", "aria-expanded": "false" };
  for (const [key, value] of Object.entries(states)) {
    box.setAttribute(key, value);
  }

  // Options apply only to the text they were requested for: later typing is never overwritten.
  let offered = [];
  let offeredFor = null;
  let chosen = -1;
  let pause = 0;
  let asking = null;

  // The server counts positions in characters; JavaScript may use two units for one.
  const characters = (text) => Array.from(text).length;
  const units = (text, count) => Array.from(text).slice(0, count).join("").length;

  function close() {
    clearTimeout(pause);
    if (asking) {
      asking.abort();
    }
    panel.hidden = true;
    offered = [];
    offeredFor = null;
    choose(-1);
    box.setAttribute("aria-expanded", "false");
    form.textContent = "";
    told.textContent = "";
  }

  function choose(place) {
    chosen = place;
    Array.from(list.children).forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    if (place < 0) {
      box.removeAttribute("aria-activedescendant");
    } else {
      box.setAttribute("aria-activedescendant", list.children[place].id);
      list.children[place].scrollIntoView({ block: "nearest" });
    }
  }

  function option(one, at) {
    const item = made("li", { role: "option", id: `offered-${at}`, "aria-selected": "false" });
    const value = made("span", { class: "value" });
    value.textContent = one.value;
    item.append(value, " ");
    if (one.name !== one.value) {
      const name = made("span", { class: "why" });
      name.textContent = one.name;
      item.append(name, " ");
    }
    if (one.count !== null) {
      const count = made("span", { class: "count" });
      count.textContent = one.count.toLocaleString("en");
      item.append(count);
    }
    item.addEventListener("mousedown", (event) => event.preventDefault());
    item.addEventListener("click", () => take(one));
    return item;
  }

  function show(answer) {
    offeredFor = box.value;
    offered = answer.completions.filter((one) => one.text !== box.value);
    list.replaceChildren(...offered.map(option));
    choose(-1);
    panel.hidden = offered.length === 0;
    box.setAttribute("aria-expanded", String(offered.length > 0));
    more.textContent = answer.more ? "Type more letters to see more." : "";
    more.hidden = !answer.more;
    form.textContent = answer.form && !answer.completions.length ? `${answer.field}: ${answer.form}, e.g. ${answer.example}` : "";
    const count = offered.length === 1 ? "1 completion" : `${offered.length} completions`;
    told.textContent = offered.length ? `${count}${answer.more ? " or more" : ""}` : form.textContent;
  }

  async function ask() {
    clearTimeout(pause);
    if (asking) {
      asking.abort();
    }
    asking = new AbortController();
    const q = box.value;
    const at = characters(q.slice(0, box.selectionStart));
    let answer = null;
    try {
      const response = await fetch(`/api/complete?${new URLSearchParams({ q, at })}`, { signal: asking.signal });
      answer = response.ok ? await response.json() : null;
    } catch (error) {
      if (error.name === "AbortError") {
        return;
      }
    }
    if (box.value !== q) {
      // Later typing has a request of its own, which `close` would cancel.
      return;
    }
    if (answer && document.activeElement === box) {
      show(answer);
    } else {
      close();
    }
  }

  function take(one) {
    if (offeredFor !== box.value) {
      ask();
      return;
    }
    const place = units(one.text, one.at);
    close();
    box.value = one.text;
    box.setSelectionRange(place, place);
    if (one.text[place - 1] === ":") {
      ask();
    }
  }

  box.addEventListener("input", (event) => {
    clearTimeout(pause);
    choose(-1);
    if (!event.isComposing) {
      pause = setTimeout(ask, PAUSE_MS);
    }
  });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) {
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!offered.length || offeredFor !== box.value) {
        ask();
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : -1;
      const count = offered.length + 1;
      choose(((chosen + 1 + step + count) % count) - 1);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(offered[chosen]);
    } else if (event.key === "Escape" && (offered.length || form.textContent)) {
      event.preventDefault();
      close();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      close();
    }
  });
})();
