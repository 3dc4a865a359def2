"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // The theme: the reader's own, until the button is pressed. Nothing is stored.
  const root = document.documentElement, theme = byId("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // Words beside the pointer, for marks of the charts.
  const tip = byId("tip");
  const showTip = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const box = tip.getBoundingClientRect(), room = root.clientWidth - box.width - 8;
    tip.style.left = Math.max(8, Math.min(event.clientX + 12, room)) + "px";
    tip.style.top = (event.clientY + 20 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  };
  document.addEventListener("pointermove", showTip);
  document.addEventListener("pointerdown", showTip);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // The table of kept features: all rows are data, a page of them is drawn.
  const store = byId("kept-data");
  if (!store) return;
  const { page, kinds, digits, values, half, doubt } = JSON.parse(store.textContent);
  const weights = values[kinds.indexOf("weight")];
  const total = values[0].length;
  const table = byId("kept"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const note = byId("kept-note"), search = byId("kept-search"), status = byId("kept-status"), back = byId("kept-back"), next = byId("kept-next");
  let order = [...Array(total).keys()], found = order, first = 0, sorted = -1, rising = true, words = null;

  const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const whole = (value) => grouped(String(value));
  const fixed = (value, places) => {
    if (value === null) return "–";
    let text = value.toFixed(places);
    if (value !== 0 && !/[1-9]/.test(text)) text = value.toExponential(1);
    else { const [before, after] = text.split("."); text = grouped(before) + (after ? "." + after : ""); }
    return text.replaceAll("-", "−");
  };
  const visible = (text) => text.replace(/[\u0000-\u001f]/g, (mark) => String.fromCharCode(0x2400 + mark.charCodeAt(0)));

  const fill = (cell, column, row) => {
    const kind = kinds[column];
    if (kind === "text") {
      const text = visible(values[column][row]), name = document.createElement("bdi");
      name.textContent = text.length > 160 ? text.slice(0, 159) + "…" : text;
      if (text.length > 160) name.title = text.slice(0, 2000);
      cell.append(name);
      return;
    }
    cell.className = "n";
    if (kind === "bar" && values[column][row] !== null) {
      const drawn = document.createElement("meter");
      drawn.value = values[column][row];
      cell.append(fixed(values[column][row], digits[column]) + " ", drawn);
      return;
    }
    if (kind === "sign" && weights[row] !== null) {
      const mark = document.createElement("span"), minus = weights[row] < 0;
      mark.className = minus ? "minus" : "plus";
      mark.textContent = minus ? "−" : "+";
      cell.append(mark);
    } else if (kind === "probability" && values[column][row] !== null && values[column][row] < half) {
      const mark = document.createElement("span");
      mark.className = "doubt";
      mark.title = doubt;
      mark.textContent = fixed(values[column][row], digits[column]);
      cell.append(mark);
    } else cell.textContent = kind === "count" ? whole(values[column][row]) : fixed(kind === "sign" ? null : values[column][row], digits[column]);
  };

  const draw = () => {
    const rows = found.slice(first, first + page).map((row) => {
      const line = document.createElement("tr");
      kinds.forEach((kind, column) => fill(line.insertCell(), column, row));
      return line;
    });
    body.replaceChildren(...rows);
    const matches = found.length < total ? ` found among ${whole(total)}` : "";
    status.textContent = found.length ? `${whole(first + 1)}–${whole(first + rows.length)} of ${whole(found.length)}${matches}` : "Nothing found";
    if (note) note.textContent = found.length ? `Rows ${status.textContent}.` : "";
    back.parentElement.hidden = found.length <= page;
    back.disabled = first === 0;
    next.disabled = first + page >= found.length;
  };

  const look = () => {
    const asked = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (asked.length && !words) {
      const read = values.filter((column, k) => kinds[k] === "text");
      words = values[0].map((rank, row) => read.map((column) => column[row]).join(" ").toLowerCase());
    }
    // Part of a name or class, or the whole number of a column.
    const says = (row, word) => words[row].includes(word) || String(values[1][row]) === word;
    found = asked.length ? order.filter((row) => asked.every((word) => says(row, word))) : order;
    first = 0;
    draw();
  };

  const keyOf = (column) => {
    const kind = kinds[column];
    if (kind === "sign") return (row) => Math.sign(weights[row]);
    if (kind === "weight") return (row) => Math.abs(values[column][row]);
    return (row) => values[column][row];
  };
  const sortBy = (column) => {
    const key = keyOf(column), text = kinds[column] === "text";
    rising = column === sorted ? !rising : text || kinds[column] === "count";
    sorted = column;
    const turn = rising ? 1 : -1;
    const collate = new Intl.Collator(undefined, { numeric: true }).compare;
    const against = text ? collate : (a, b) => (a ?? -Infinity) - (b ?? -Infinity);
    order = [...Array(total).keys()].sort((a, b) => turn * against(key(a), key(b)) || a - b);
    heads.forEach((head, k) => k === column ? head.setAttribute("aria-sort", rising ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    look();
  };

  heads.forEach((head, column) => {
    const button = head.querySelector(".sort");
    button.addEventListener("click", () => sortBy(column));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sortBy(column);
    });
  });
  search.addEventListener("input", look);
  back.addEventListener("click", () => { first = Math.max(0, first - page); draw(); });
  next.addEventListener("click", () => { first += page; draw(); });
  byId("kept-controls").hidden = false;
  if (note) note.classList.add("printed");
  look();
})();
