import { type Html, html } from "@remat/trace/emit";

/** Styles of the page of `remat fit`, with the browser's own colours, light and dark. */
export const fitStyle: Html = html.element(
  "style",
  `:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem}h1{font-size:1.4rem;margin:0}#best{font-weight:600}
.note,small{color:color-mix(in srgb,CanvasText 72%,Canvas)}.note{font-size:.87rem;margin:.3rem 0}small{display:block;font-size:.8rem}form{display:flex;flex-wrap:wrap;gap:.5rem 1rem}
fieldset{border:1px solid GrayText;border-radius:4px;padding:.1rem .6rem .3rem}label{margin-right:.6rem;white-space:nowrap}.scroll{overflow-x:auto;margin-top:1rem}
table{border-collapse:separate;border-spacing:4px}th{text-align:left;vertical-align:top;font-weight:600;padding:.2rem .4rem}td{vertical-align:top;padding:.25rem .5rem;border:1px solid transparent;border-radius:4px}
td strong{font-size:1.1rem}td.none{color:color-mix(in srgb,CanvasText 72%,Canvas)}td.front{border-color:currentColor}td.best{border:3px solid currentColor}[hidden]{display:none}td.out>*{visibility:hidden}td.out{color:transparent;border-color:transparent}`,
);

/**
 * Hides unchecked values. In each cell, `data-rank` is its place by the objective, and `data-aims` are the quantities
 * to minimise.
 */
export const fitScript: Html = html.element(
  "script",
  `(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const boxes = all("input[data-value]");
  const cells = all("td[data-of]");
  const rows = all("tbody tr");
  const heads = all("thead th");
  const lower = (a, b) => a.every((aim, i) => aim <= b[i]) && a.some((aim, i) => aim < b[i]);
  function show() {
    const out = boxes.filter((box) => !box.checked).map(({ dataset }) => [Number(dataset.dimension), Number(dataset.value)]);
    for (const cell of cells) {
      const of = JSON.parse(cell.dataset.of);
      cell.classList.toggle("out", out.some(([dimension, value]) => of[dimension] === value));
    }
    const left = cells.filter((cell) => !cell.classList.contains("out"));
    const fitting = left.filter((cell) => cell.dataset.rank !== undefined).map((cell) => ({ cell, rank: Number(cell.dataset.rank), aims: JSON.parse(cell.dataset.aims) }));
    const best = fitting.reduce((a, b) => (a === undefined || b.rank < a.rank ? b : a), undefined);
    for (const cell of cells) cell.classList.remove("front", "best");
    for (const { cell, aims } of fitting) cell.classList.toggle("front", !fitting.some((other) => lower(other.aims, aims)));
    best?.cell.classList.add("best");
    document.getElementById("best").textContent = best === undefined ? "nothing in the selection fits" : best.cell.dataset.text;
    for (const row of rows) row.hidden = !left.some((cell) => cell.parentElement === row);
    heads.slice(1).forEach((head, i) => {
      const isEmpty = !left.some((cell) => cell.cellIndex === i + 1);
      head.hidden = isEmpty;
      for (const row of rows) row.cells[i + 1].hidden = isEmpty;
    });
  }
  for (const box of boxes) box.addEventListener("change", show);
  // Applies the checkboxes that the browser restored after a reload.
  show();
  document.documentElement.dataset.ready = "true";
})();`,
);
