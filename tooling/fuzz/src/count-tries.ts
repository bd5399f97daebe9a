import { formatTable } from "@remat/trace/text";

/** A number of tries of one kind, as a plural, on one backend, without a finding. */
export interface Tries {
  readonly title: string;
  readonly where: string;
  readonly count: number;
}

const marked = /(<!-- fuzz: tried -->\n\n)([\s\S]*?)(\n\n<!-- \/fuzz: tried -->)/;
const markedPrograms = /(<!-- fuzz: programs -->)[\d,]*(<!-- \/fuzz: programs -->)/;
const headers = ["what", "on", "times"];

/** Adds tries to those in the table of a page. */
export function addTries(page: string, added: readonly Tries[]): string {
  const all = new Map<string, Tries>();
  for (const tries of [...triesOf(page), ...added]) {
    const key = `${tries.title} on ${tries.where}`;
    all.set(key, { ...tries, count: tries.count + (all.get(key)?.count ?? 0) });
  }
  const rows = [...all.values()].map(({ title, where, count }) => [title, where, count.toLocaleString("en-US")]);
  return page.replace(
    marked,
    (_, start, _table, end) => start + formatTable(rows, { headers, format: "markdown" }) + end,
  );
}

/** The tries in the table of a page. */
export function triesOf(page: string): Tries[] {
  const [, , table] = marked.exec(page) ?? [];
  if (table === undefined) throw new Error("expected a table between the marks of fuzz: tried, found none");
  return table
    .split("\n")
    .slice(2)
    .map((line) => {
      const [title, where, count] = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return { title, where, count: Number(count.replaceAll(",", "")) };
    });
}

/** Writes the number of tried programs into another page, if it has a mark for that. */
export function tellPrograms(page: string, tries: readonly Tries[]): string {
  const programs = tries.filter(({ title }) => title === "programs").reduce((sum, { count }) => sum + count, 0);
  return page.replace(markedPrograms, (_, start, end) => start + programs.toLocaleString("en-US") + end);
}
