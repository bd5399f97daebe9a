import { describe, expect, it } from "vitest";
import { type BaselineStep, checkMemory, type PeakLimit } from "../../src/baseline/index.js";

const stepOf = (peakBytes: number, given: Partial<BaselineStep> = {}): BaselineStep => ({
  step: "{}",
  peakBytes,
  bytesByCategory: {},
  bytesByModule: {},
  ...given,
});
const noMore: PeakLimit = { kind: "share", share: 0 };

describe("a step passes up to its limit", () => {
  it.each([
    [{ kind: "share", share: 0.025 }, 1025],
    [{ kind: "share", share: 0.0259 }, 1025],
    [{ kind: "more", bytes: 7 }, 1007],
    [{ kind: "most", bytes: 900 }, 900],
  ] satisfies [PeakLimit, number][])("of %j: %s bytes", (limit, limitBytes) => {
    const at = (bytes: number) => checkMemory({ net: stepOf(bytes) }, { net: stepOf(1000) }, limit);
    const passing = at(limitBytes);
    expect(passing).toMatchObject({ passes: true, unknown: [], other: [] });
    expect(passing.steps).toEqual([
      { name: "net", beforeBytes: 1000, afterBytes: limitBytes, limitBytes, passes: true, categories: [], modules: [] },
    ]);
    expect(at(limitBytes + 1)).toMatchObject({ passes: false, steps: [{ passes: false }] });
  });

  it("and all fail with one of them", () => {
    const before = { a: stepOf(10), b: stepOf(10) };
    expect(checkMemory({ a: stepOf(11), b: stepOf(10) }, before, noMore)).toMatchObject({
      passes: false,
      steps: [{ passes: false }, { passes: true }],
    });
    // Steps that were not asked for do not count.
    expect(checkMemory({ b: stepOf(10) }, before, noMore)).toMatchObject({ passes: true, steps: [{ name: "b" }] });
  });
});

it("a step that the baseline lacks fails, also if it is called like a property of every object", () => {
  const check = checkMemory({ constructor: stepOf(1) }, { net: stepOf(1) }, noMore);
  expect(check).toEqual({ steps: [], unknown: ["constructor"], other: [], passes: false });
});

it("a step with other settings is not compared, and fails", () => {
  const check = checkMemory(
    { net: stepOf(1, { step: '{"batch":2}' }) },
    { net: stepOf(1, { step: '{"batch":1}' }) },
    noMore,
  );
  expect(check).toEqual({
    ...{ steps: [], unknown: [], passes: false },
    other: [{ name: "net", before: '{"batch":1}', after: '{"batch":2}' }],
  });
});

it("what changed is named, what grew most first, and of modules the innermost", () => {
  const before = stepOf(100, {
    bytesByCategory: { activation: 50, gradient: 20, input: 30 },
    bytesByModule: { net: 100, "net.a": 60, "net.a.conv": 40, "net.b": 40, constructor: 1 },
  });
  const after = stepOf(120, {
    bytesByCategory: { activation: 60, gradient: 45, temporary: 15 },
    bytesByModule: { net: 120, "net.a": 65, "net.a.conv": 45, "net.b": 50, "net.bb": 5 },
  });
  const [{ categories, modules }] = checkMemory({ net: after }, { net: before }, noMore).steps;
  expect(categories).toEqual([
    { name: "gradient", beforeBytes: 20, afterBytes: 45 },
    { name: "temporary", beforeBytes: 0, afterBytes: 15 },
    { name: "activation", beforeBytes: 50, afterBytes: 60 },
    { name: "input", beforeBytes: 30, afterBytes: 0 },
  ]);
  // All growth of `net.a` is that of `net.a.conv`. `net.bb` is not inside `net.b`.
  expect(modules).toEqual([
    { name: "net", beforeBytes: 100, afterBytes: 120 },
    { name: "net.b", beforeBytes: 40, afterBytes: 50 },
    { name: "net.a.conv", beforeBytes: 40, afterBytes: 45 },
    { name: "net.bb", beforeBytes: 0, afterBytes: 5 },
    { name: "constructor", beforeBytes: 1, afterBytes: 0 },
  ]);
});
