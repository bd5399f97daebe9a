import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { openFile } from "../src/weights/hdf5/open-file.js";

/** Files as h5py writes them, with what it has read of each array: shape and numbers. */
const files = unzipSync(readFileSync(new URL("fixtures/hdf5-files.zip", import.meta.url)));
type Arrays = Readonly<Record<string, readonly [shape: number[], values: number[]]>>;
const expected = JSON.parse(new TextDecoder().decode(files["expected.json"])) as Readonly<Record<string, Arrays>>;

describe.each(Object.entries(expected))("a file that h5py wrote: %s", (name, arrays) => {
  const root = openFile(files[`${name}.h5`]!);

  it.each(Object.entries(arrays).filter(([path]) => !path.startsWith("many/") && !path.startsWith("few/")))(
    "has the numbers of %s",
    (path, [shape, values]) => {
      const found = root.get(path);
      expect(found.isArray).toBe(true);
      expect(found.shape).toEqual(shape);
      expect([...found.numbers()]).toEqual(values);
    },
  );

  it("has all links of a group, few or many", () => {
    for (const group of ["many", "few"]) {
      const paths = Object.keys(arrays).filter((path) => path.startsWith(`${group}/`));
      expect(
        root
          .get(group)
          .keys.map((key) => `${group}/${key}`)
          .toSorted(),
      ).toEqual(paths.toSorted());
      for (const path of paths) expect([...root.get(path).numbers()]).toEqual(arrays[path]![1]);
    }
  });

  it("has attributes", () => {
    expect(Object.fromEntries(root.attrs)).toEqual({
      text: "some text é",
      list: ["a", "bcd"],
      number: 3,
      texts: ["x", "yz"],
    });
  });
});
