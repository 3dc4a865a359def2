"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { words, lists } = JSON.parse(byId("association-data").textContent);
  const places = new Map(words.map((word, place) => [word, place]));
  const input = byId("association-word"), title = byId("association-title"), list = byId("association-list"), near = byId("association-near");
  const answered = [...Object.keys(lists)].map(Number).sort((a, b) => (words[a] < words[b] ? -1 : 1));

  const choose = (word) => { input.value = word; show(); input.focus(); };
  const button = (word) => {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = word;
    one.addEventListener("click", () => choose(word));
    return one;
  };

  // The list of a word: a bar for each weight; words that have a list of their own can be followed.
  const draw = (place) => {
    title.textContent = lists[place].length ? "Words that predict “" + words[place] + "”" : "Nothing predicts “" + words[place] + "”";
    const top = Math.max(...lists[place].map(([, weight]) => Math.abs(weight)));
    for (const [other, weight] of lists[place]) {
      const line = document.createElement("tr"), name = line.insertCell(), bar = line.insertCell(), figure = line.insertCell();
      if (lists[other]) name.append(button(words[other])); else name.textContent = words[other];
      const length = document.createElement("span");
      length.className = weight < 0 ? "against" : "for";
      length.style.width = (100 * Math.abs(weight)) / top + "%";
      bar.append(length);
      figure.className = "n";
      figure.textContent = weight.toFixed(3).replace("-", "−");
      list.append(line);
    }
  };

  // Words that begin as what is typed, then those that hold it.
  const suggest = (typed) => {
    const begin = answered.filter((place) => words[place].startsWith(typed)), inside = answered.filter((place) => words[place].indexOf(typed) > 0);
    near.replaceChildren(...[...begin, ...inside].slice(0, 24).map((place) => button(words[place])));
  };

  function show() {
    const typed = input.value.trim().toLowerCase(), place = places.get(typed);
    list.replaceChildren();
    suggest(typed);
    if (place !== undefined && lists[place]) draw(place);
    else title.textContent = typed ? "No list for “" + typed + "”" : "";
  }
  input.addEventListener("input", show);
  choose(words[Number(input.dataset.first)]);
})();
