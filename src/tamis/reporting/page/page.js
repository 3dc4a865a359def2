"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // The theme of the reader's system, until the button is pressed. Nothing is stored.
  const root = document.documentElement, theme = byId("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const labelButton = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; labelButton(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", labelButton);
  labelButton();

  // A tip beside the pointer, for marks of the charts.
  const tip = byId("tip");
  const showTip = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const box = tip.getBoundingClientRect(), maxLeft = root.clientWidth - box.width - 8;
    tip.style.left = Math.max(8, Math.min(event.clientX + 12, maxLeft)) + "px";
    tip.style.top = (event.clientY + 20 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  };
  document.addEventListener("pointermove", showTip);
  document.addEventListener("pointerdown", showTip);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // The table of kept features: all rows are data, and one page of them is drawn.
  const dataElement = byId("kept-data");
  if (!dataElement) return;
  const { rowsPerView, kinds, digits, values, minProbability, doubt } = JSON.parse(dataElement.textContent);
  const weights = values[kinds.indexOf("weight")];
  const total = values[0].length;
  const table = byId("kept"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const note = byId("kept-note"), search = byId("kept-search"), status = byId("kept-status"), back = byId("kept-back"), next = byId("kept-next");
  let order = [...Array(total).keys()], matching = order, first = 0, sortColumn = -1, ascending = true, rowTexts = null;

  const withSeparators = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const formatCount = (value) => withSeparators(String(value));
  const formatFixed = (value, decimals) => {
    if (value === null) return "–";
    let text = value.toFixed(decimals);
    if (value !== 0 && !/[1-9]/.test(text)) text = value.toExponential(1);
    else { const [before, after] = text.split("."); text = withSeparators(before) + (after ? "." + after : ""); }
    return text.replaceAll("-", "−");
  };
  const showControls = (text) => text.replace(/[\u0000-\u001f]/g, (mark) => String.fromCharCode(0x2400 + mark.charCodeAt(0)));

  const fillCell = (cell, column, row) => {
    const kind = kinds[column];
    if (kind === "text") {
      const text = showControls(values[column][row]), name = document.createElement("bdi");
      name.textContent = text.length > 160 ? text.slice(0, 159) + "…" : text;
      if (text.length > 160) name.title = text.slice(0, 2000);
      cell.append(name);
      return;
    }
    cell.className = "n";
    if (kind === "bar" && values[column][row] !== null) {
      const meter = document.createElement("meter");
      meter.value = values[column][row];
      cell.append(formatFixed(values[column][row], digits[column]) + " ", meter);
      return;
    }
    if (kind === "sign" && weights[row] !== null) {
      const mark = document.createElement("span"), minus = weights[row] < 0;
      mark.className = minus ? "minus" : "plus";
      mark.textContent = minus ? "−" : "+";
      cell.append(mark);
    } else if (kind === "probability" && values[column][row] !== null && values[column][row] < minProbability) {
      const mark = document.createElement("span");
      mark.className = "doubt";
      mark.title = doubt;
      mark.textContent = formatFixed(values[column][row], digits[column]);
      cell.append(mark);
    } else cell.textContent = kind === "count" ? formatCount(values[column][row]) : formatFixed(kind === "sign" ? null : values[column][row], digits[column]);
  };

  const draw = () => {
    const rows = matching.slice(first, first + rowsPerView).map((row) => {
      const line = document.createElement("tr");
      kinds.forEach((kind, column) => fillCell(line.insertCell(), column, row));
      return line;
    });
    body.replaceChildren(...rows);
    const matches = matching.length < total ? ` found among ${formatCount(total)}` : "";
    status.textContent = matching.length ? `${formatCount(first + 1)}–${formatCount(first + rows.length)} of ${formatCount(matching.length)}${matches}` : "Nothing found";
    if (note) note.textContent = matching.length ? `Rows ${status.textContent}.` : "";
    back.parentElement.hidden = matching.length <= rowsPerView;
    back.disabled = first === 0;
    next.disabled = first + rowsPerView >= matching.length;
  };

  const searchRows = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (terms.length && !rowTexts) {
      const texts = values.filter((column, k) => kinds[k] === "text");
      rowTexts = values[0].map((rank, row) => texts.map((column) => column[row]).join(" ").toLowerCase());
    }
    // A term is a piece of a name or class, or the whole number of a column.
    const isMatch = (row, term) => rowTexts[row].includes(term) || String(values[1][row]) === term;
    matching = terms.length ? order.filter((row) => terms.every((term) => isMatch(row, term))) : order;
    first = 0;
    draw();
  };

  const sortKey = (column) => {
    const kind = kinds[column];
    if (kind === "sign") return (row) => Math.sign(weights[row]);
    if (kind === "weight") return (row) => Math.abs(values[column][row]);
    return (row) => values[column][row];
  };
  const sortBy = (column) => {
    const key = sortKey(column), isText = kinds[column] === "text";
    ascending = column === sortColumn ? !ascending : isText || kinds[column] === "count";
    sortColumn = column;
    const sign = ascending ? 1 : -1;
    const compareTexts = new Intl.Collator(undefined, { numeric: true }).compare;
    const compare = isText ? compareTexts : (a, b) => (a ?? -Infinity) - (b ?? -Infinity);
    order = [...Array(total).keys()].sort((a, b) => sign * compare(key(a), key(b)) || a - b);
    heads.forEach((head, k) => k === column ? head.setAttribute("aria-sort", ascending ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    searchRows();
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
  search.addEventListener("input", searchRows);
  back.addEventListener("click", () => { first = Math.max(0, first - rowsPerView); draw(); });
  next.addEventListener("click", () => { first += rowsPerView; draw(); });
  byId("kept-controls").hidden = false;
  if (note) note.classList.add("printed");
  searchRows();
})();
