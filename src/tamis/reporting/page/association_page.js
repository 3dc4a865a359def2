"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { words, lists } = JSON.parse(byId("association-data").textContent);
  const index = new Map(words.map((word, k) => [word, k]));
  const input = byId("association-word"), title = byId("association-title"), list = byId("association-list"), suggestions = byId("association-near");
  const queries = [...Object.keys(lists)].map(Number).sort((a, b) => (words[a] < words[b] ? -1 : 1));

  const choose = (word) => { input.value = word; show(); input.focus(); };
  const button = (word) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = word;
    element.addEventListener("click", () => choose(word));
    return element;
  };

  // The list of a word: a bar for each weight. A word with a list of its own is a button that shows it.
  const draw = (query) => {
    title.textContent = lists[query].length ? "Words that predict “" + words[query] + "”" : "Nothing predicts “" + words[query] + "”";
    const largest = Math.max(...lists[query].map(([, weight]) => Math.abs(weight)));
    for (const [word, weight] of lists[query]) {
      const line = document.createElement("tr"), name = line.insertCell(), barCell = line.insertCell(), number = line.insertCell();
      if (lists[word]) name.append(button(words[word])); else name.textContent = words[word];
      const bar = document.createElement("span");
      bar.className = weight < 0 ? "against" : "for";
      bar.style.width = (100 * Math.abs(weight)) / largest + "%";
      barCell.append(bar);
      number.className = "n";
      number.textContent = weight.toFixed(3).replace("-", "−");
      list.append(line);
    }
  };

  // Words that begin with the typed text, then those that contain it.
  const suggest = (typed) => {
    const starting = queries.filter((k) => words[k].startsWith(typed)), containing = queries.filter((k) => words[k].indexOf(typed) > 0);
    suggestions.replaceChildren(...[...starting, ...containing].slice(0, 24).map((k) => button(words[k])));
  };

  function show() {
    const typed = input.value.trim().toLowerCase(), query = index.get(typed);
    list.replaceChildren();
    suggest(typed);
    if (query !== undefined && lists[query]) draw(query);
    else title.textContent = typed ? "No list for “" + typed + "”" : "";
  }
  input.addEventListener("input", show);
  choose(words[Number(input.dataset.first)]);
})();
