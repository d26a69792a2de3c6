// Search, theme, copy buttons. Everything works from file://, so the index is a script and not a request.
"use strict";
(() => {
  const root = document.body.dataset.root;
  const input = document.getElementById("search"), found = document.getElementById("found");
  const menu = document.getElementById("menu"), wide = matchMedia("(min-width: 48.01rem)");

  // The menu is always open where there is room for it.
  const place = () => { menu.open = wide.matches; };
  place();
  wide.addEventListener("change", place);

  document.getElementById("theme").addEventListener("click", () => {
    const html = document.documentElement;
    const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try { localStorage.theme = html.dataset.theme; } catch { /* no storage for file:// in some browsers */ }
  });

  for (const block of document.querySelectorAll("main pre")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "copied";
      } catch { button.textContent = "no clipboard"; }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    block.prepend(button);
  }

  // A page counts more for a word in its title than in a heading, and more there than in its text.
  const score = (entry, words) => {
    const title = entry.t.toLowerCase(), headings = entry.h.join("\n").toLowerCase(), text = entry.x.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const points = (title === word ? 60 : title.includes(word) ? 30 : 0) + (headings.split("\n").includes(word) ? 25 :
        headings.includes(word) ? 10 : 0) + Math.min(5, text.split(word).length - 1);
      if (points === 0) return 0;
      sum += points;
    }
    return entry.u.startsWith("source/") ? sum / 4 : sum;
  };

  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  // All words at once: a second pass would find them in the marks of the first.
  const marked = (text, words) => escape(text).replace(
    new RegExp(words.map((word) => escape(word).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi"), "<mark>$&</mark>");

  // Whole words around the first place behind the title, which is shown above it.
  const excerpt = (entry, words) => {
    const text = entry.x.startsWith(entry.t) ? entry.x.slice(entry.t.length) : entry.x;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
    const part = text.slice(at, at + 150);
    return part.replace(at > 0 ? /^\S*\s/ : /^\s+/, "").replace(at + 150 < text.length ? /\s\S*$/ : /\s+$/, "");
  };

  // A heading that is the word itself is where the reader wants to go.
  const target = (entry, words) => {
    const heading = entry.h.find((name) => name.toLowerCase() === words.join(" "));
    return root + entry.u + (heading && entry.u.startsWith("reference/") ? `#${heading}` : "");
  };

  let selected = -1;
  const select = (to) => {
    const items = [...found.children];
    selected = items.length ? (to + items.length) % items.length : -1;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === selected)));
    if (selected >= 0) items[selected].scrollIntoView({block: "nearest"});
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const best = words.length === 0 ? [] : (window.HEADLIGHT_SEARCH || []).map((entry) => [score(entry, words), entry])
      .filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
    found.innerHTML = best.map(([, entry]) => `<li role="option"><a href="${escape(target(entry, words))}">${marked(entry.t, words)}` +
      `<small>${marked(excerpt(entry, words), words)}</small></a></li>`).join("") ||
      (words.length ? `<li><small>No page has “${escape(input.value)}”.</small></li>` : "");
    found.hidden = words.length === 0;
    input.setAttribute("aria-expanded", String(!found.hidden));
    select(best.length ? 0 : -1);
  };
  input.addEventListener("input", search);
  // A search can be linked to: index.html?q=window
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    search();
  }
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      select(selected + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && selected >= 0) {
      found.children[selected].querySelector("a")?.click();
    } else if (event.key === "Escape") {
      input.value = "";
      search();
      input.blur();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) found.hidden = true;
  });
})();
