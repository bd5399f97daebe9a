import { describe, expect, it } from "vitest";
import { compareRuns, describeStock } from "../src/compare-runs.js";

const spec = (name: string, status: string, ...messages: string[]) => ({ name, status, messages });
const runOf = (...specs: ReturnType<typeof spec>[]) => ({ specs, errors: [], work: 7 });

describe("two runs of the specs", () => {
  it("agree when the second fails nowhere that the first does not", () => {
    const stock = runOf(spec("a", "passed"), spec("b", "failed", "no kernel"), spec("c", "pending"));
    expect(compareRuns(stock, runOf(...stock.specs), "cpu", "ops")).toEqual([
      "ok      cpu: 3 specs, 0 differ from stock, 7 ops",
    ]);
    const better = runOf(spec("a", "passed"), spec("b", "failed", "other words"), spec("c", "pending"));
    expect(compareRuns(stock, better, "cpu", "ops")).toHaveLength(1);
  });

  it("prove nothing when the mode had nothing to do", () => {
    const stock = runOf(spec("a", "passed"));
    expect(compareRuns(stock, { ...stock, work: 0 }, "cpu", "ops")).toEqual([
      "not ok  cpu: 1 specs, 0 differ from stock, 0 ops",
    ]);
  });

  it("differ by name, and by order where specs have one name", () => {
    const stock = runOf(spec("a", "passed"), spec("a", "passed"), spec("b", "passed"));
    const worse = runOf(spec("a", "passed"), spec("a", "failed", "two\n lines", "more"), spec("b", "passed"));
    expect(compareRuns(stock, worse, "cpu", "ops")).toEqual([
      "not ok  cpu: 3 specs, 1 differ from stock, 7 ops",
      "not ok  cpu: a (2): two lines",
    ]);
  });

  it("differ when a spec was not run, or passes though stock fails, and by errors outside of specs", () => {
    const stock = runOf(spec("a", "passed"), spec("b", "failed", "no kernel"), spec("c", "passed"));
    const run = {
      specs: [spec("a", "passed"), spec("b", "passed")],
      errors: [{ name: "suite", message: "afterAll" }],
      work: 7,
    };
    expect(compareRuns(stock, run, "cpu", "ops")).toEqual([
      "not ok  cpu: 2 specs, 3 differ from stock, 7 ops",
      "not ok  cpu: b: failed in stock, passed with it",
      "not ok  cpu: c: passed in stock, not there with it",
      "not ok  cpu: suite: afterAll",
    ]);
  });
});

describe("stock", () => {
  const specs = (passed: number, failed: number) => ({
    specs: [...new Array(passed).fill(spec("a", "passed")), ...new Array(failed).fill(spec("b", "failed", "no"))],
    errors: [],
    work: 0,
  });

  it("is believed only when most of it ran and passed", () => {
    expect(describeStock(specs(4000, 200), "native")).toEqual([
      "ok      native, stock: 4200 specs, 200 fail by themselves",
    ]);
    expect(describeStock(specs(3000, 0), "native")[0]).toMatch(/^not ok/);
    expect(describeStock(specs(3600, 600), "native")[0]).toMatch(/^not ok/);
    const broken = { ...specs(4200, 0), errors: [{ name: "suite", message: "beforeAll" }] };
    expect(describeStock(broken, "native")).toEqual([
      "not ok  native, stock: 4200 specs, 0 fail by themselves; suite: beforeAll",
    ]);
  });
});
