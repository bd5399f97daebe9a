import { type Golden, goldenFiles, goldensOf, readGolden, sampledCases } from "@remat/testkit";
import { describe, expect, test } from "vitest";
import { compareOpCosts, compareRtGolden, hasOpCosts, unendedModules } from "./compare-rt-golden.js";

const withOpCosts = goldenFiles()
  .map((file) => ({ name: file.name, golden: readGolden(file) }))
  .filter(({ golden }) => hasOpCosts(golden));
const runtimes = goldensOf("rt-oracle/1").map(({ file, golden }) => ({ name: file.name, golden }));

test("the project's own copy has goldens of both kinds", () => {
  const foreignFolder = process.env["REMAT_GOLDENS"] !== undefined;
  expect(foreignFolder || (runtimes.length > 0 && withOpCosts.length > runtimes.length)).toBe(true);
});

describe("FLOPs, bytes and milliseconds of every op are PyTorch's", () => {
  test.each(withOpCosts)("$name", ({ golden }) => expect(compareOpCosts(golden)).toBeUndefined());
});

describe("module runtimes and their texts are PyTorch's", () => {
  test.each(runtimes)("$name", ({ golden }) => expect(compareRtGolden(golden)).toBeUndefined());
});

describe("a golden with one number changed does not agree", () => {
  /** Leaves a module that ran once out of both orders of a pass. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of a golden file
  const removeFrom = (results: any, ...orders: string[]): void => {
    const once = (results[orders[0]] as string[]).find((fqn) =>
      orders.every((order) => results[order].filter((one: string) => one === fqn).length === 1),
    );
    for (const order of orders) results[order] = results[order].filter((fqn: string) => fqn !== once);
  };

  // biome-ignore lint/suspicious/noExplicitAny: a golden file
  const changed = (golden: Golden, change: (copy: any) => void): Golden => {
    const copy = structuredClone(golden);
    change(copy);
    return copy;
  };
  // biome-ignore lint/suspicious/noExplicitAny: events of a golden file
  const lastOpWith = (copy: any, field: string) => copy.events.findLast((event: any) => event[field] !== undefined);

  test.each(withOpCosts)("$name: an answer of one op", ({ golden }) => {
    for (const field of ["rb", "wb", "t", "flops"]) {
      if (lastOpWith(golden, field) === undefined) continue;
      const copy = changed(golden, (copy) => {
        lastOpWith(copy, field)[field] += field === "t" ? 1e-6 : 1;
      });
      expect(compareOpCosts(copy), field).toContain(`${field} `);
    }
  });

  test.each(withOpCosts)("$name: an input, the shape of a tensor that an op reads", ({ golden }) => {
    const copy = changed(golden, (copy) => {
      const read = copy.events
        // biome-ignore lint/suspicious/noExplicitAny: events of a golden file
        .filter((event: any) => event.e === "op" && event.rb > 0)
        // biome-ignore lint/suspicious/noExplicitAny: events of a golden file
        .flatMap((event: any) => JSON.stringify(event.a).match(/%\d+/g) ?? [])
        .map((reference: string) => copy.tensors[Number(reference.slice(1))]);
      // biome-ignore lint/suspicious/noExplicitAny: a tensor of a golden file
      read.findLast(({ sh, st }: any) => sh.length > 0 && st[0] !== 0).sh[0] += 1;
    });
    expect(compareOpCosts(copy)).toBeDefined();
  });

  test.each(runtimes)("$name: an answer", ({ golden }) => {
    // biome-ignore lint/suspicious/noExplicitAny: a golden file
    const changes: [string, (copy: any) => void][] = [
      ["total_runtime", ({ results }) => (results.total_runtime *= 1 + 1e-9)],
      ["text_depth2", ({ results }) => (results.text_depth2 = results.text_depth2.replace(/\d(?=ms bw)/, "x"))],
      ["text_depth4", ({ results }) => (results.text_depth4 = results.text_depth4.replace(/\d(?=ms bw)/, "x"))],
      ["exit_text", ({ results }) => (results.exit_text = results.exit_text.replace(/\d(?= ms)/, "x"))],
      ["modules", ({ results }) => delete results.mod_runtimes.Global],
      ["mod_fw_post_order", ({ results }) => results.mod_fw_post_order.pop()],
      ["mod_bw_pre_order", ({ results }) => results.mod_bw_pre_order.push("Global")],
      // A call left out everywhere, and two calls in the wrong order: the file still agrees with itself.
      ["mod_fw_pre_order", ({ results }) => removeFrom(results, "mod_fw_pre_order", "mod_fw_post_order")],
      ["mod_bw_pre_order", ({ results }) => removeFrom(results, "mod_bw_pre_order", "mod_bw_post_order")],
      ["mod_fw_pre_order", ({ results }) => results.mod_fw_pre_order.reverse()],
      ["mod_fw_post_order", ({ results }) => results.mod_fw_post_order.reverse()],
      // If all comparable modules begin together, the text that lists them shows it.
      ["mod_bw_pre_order|text_depth2", ({ results }) => results.mod_bw_pre_order.reverse()],
      ["mod_bw_post_order", ({ results }) => results.mod_bw_post_order.reverse()],
    ];
    for (const [field, change] of changes)
      expect(compareRtGolden(changed(golden, change))).toMatch(new RegExp(`^(${field})`));
  });

  test.each(runtimes)("$name: any module's runtime", ({ golden }) => {
    const unended = unendedModules(golden);
    const modules = Object.entries(golden["results"].mod_runtimes as Record<string, Record<string, number>>);
    for (const [fqn, times] of sampledCases(modules, 4))
      for (const [pass, ms] of Object.entries(times)) {
        // For a module that upstream keeps active to the end, remat's time is shorter.
        const other = unended.has(fqn) && pass === "bw" ? ms / 2 : ms * (1 + 1e-9) + 1e-12;
        const copy = changed(golden, ({ results }) => (results.mod_runtimes[fqn][pass] = other));
        expect(compareRtGolden(copy)).toContain(`${fqn} ${pass} `);
      }
  });
});
