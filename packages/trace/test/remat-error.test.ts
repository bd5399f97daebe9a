import { describe, expect, it } from "vitest";
import type * as errors from "../src/remat-error.js";
import { RematError, setErrorKind } from "../src/remat-error.js";

/** The module a second time, as a second copy of the package would load it. */
const copy = (await import(`../src/remat-error.js${"?copy"}`)) as typeof errors;

class Narrow extends RematError {
  static {
    setErrorKind(this, "Narrow");
  }
}
class NarrowOfCopy extends copy.RematError {
  static {
    setErrorKind(this, "Narrow");
  }
}
class Wide extends RematError {}
class Other extends copy.RematError {
  static {
    setErrorKind(this, "Other");
  }
}

const made = {
  ours: new RematError("ARGUMENT", "a"),
  theirs: new copy.RematError("ARGUMENT", "a"),
  narrow: new Narrow("ARGUMENT", "a"),
  narrowOfCopy: new NarrowOfCopy("ARGUMENT", "a"),
  wide: new Wide("ARGUMENT", "a"),
  other: new Other("ARGUMENT", "a"),
  plain: new Error("a"),
  alike: Object.assign(new Error("a"), { code: "A", name: "RematError" }),
  record: { code: "A", name: "RematError", constructor: RematError },
  none: undefined,
};

const those = (kind: new (code: "ARGUMENT", message: string) => Error) =>
  Object.entries(made).flatMap(([name, error]) => (error instanceof kind ? [name] : []));

describe("instanceof", () => {
  it("holds for errors of every copy of the package, by kind", () => {
    expect(copy.RematError).not.toBe(RematError);
    const all = ["ours", "theirs", "narrow", "narrowOfCopy", "wide", "other"];
    expect(those(RematError)).toEqual(all);
    expect(those(copy.RematError)).toEqual(all);
    expect(those(Narrow)).toEqual(["narrow", "narrowOfCopy"]);
    expect(those(NarrowOfCopy)).toEqual(["narrow", "narrowOfCopy"]);
    expect(those(Other)).toEqual(["other"]);
  });

  it("holds for a class without a kind in its own copy", () => {
    expect(those(Wide)).toEqual(["wide"]);
  });
});
