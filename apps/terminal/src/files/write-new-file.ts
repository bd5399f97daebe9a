import { writeFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";

/** How many files of one name there may be. */
const mostOfOneName = 1000;

/** Writes a file that was not there before: where `name` is taken, `name-2` and so on. Its full path. */
export function writeNewFile(folder: string, name: string, text: string): string {
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  for (let i = 1; ; i++) {
    const path = resolve(join(folder, i === 1 ? name : `${stem}-${i}${ending}`));
    try {
      writeFileSync(path, text, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || i >= mostOfOneName) throw error;
    }
  }
}
