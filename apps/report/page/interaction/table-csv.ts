import { type Cell, writeCsv } from "@remat/reporting";
import { h } from "../dom.js";
import { download } from "./download.js";

/** Creates a cell of a table and keeps its exact number for export. */
export function amountCell(value: number, format: (value: number) => string): HTMLElement {
  return h("td", { class: "number", "data-value": value }, format(value));
}

/** Creates a button that saves a table, with exact numbers instead of displayed ones. */
export function csvButton(name: string, table: () => HTMLTableElement | null): HTMLElement {
  const save = (): void => {
    const found = table();
    if (found !== null) download(`${name}.csv`, [tableCsv(found)], "text/csv");
  };
  return h(
    "p",
    { class: "table-csv" },
    h("button", { type: "button", class: "link", "aria-label": `Save as CSV: ${name}`, onclick: save }, "Save as CSV"),
  );
}

/** Adds such a button under every table of the summary. */
export function addCsvButtons(section: HTMLElement, title: string): void {
  for (const table of section.querySelectorAll("table")) {
    const heading = table.closest("div:has(h3)")?.querySelector("h3")?.textContent ?? "";
    const frame = table.closest(".scroll") ?? table;
    frame.after(csvButton(`${title}: ${heading}`, () => table));
  }
}

function tableCsv(table: HTMLTableElement): string {
  const rows = [...table.rows].map((row) => [...row.cells].map(cellValue));
  const [headers = [], ...body] = rows;
  return writeCsv(headers.map(String), body);
}

function cellValue(cell: HTMLTableCellElement): Cell {
  const value = cell.dataset["value"];
  if (value !== undefined) return Number(value);
  // Lines of a cell, such as a name and its shape, are separated by a space.
  return cell.innerText.replace(/\s+/g, " ").trim();
}
