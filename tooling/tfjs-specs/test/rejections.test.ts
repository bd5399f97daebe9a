import { describe, expect, it } from "vitest";
import { Rejections } from "../src/rejections.js";

const prefix = "Unhandled promise rejection";

describe("a promise that is rejected when its spec is over", () => {
  it("fails the spec that began it, and none that runs meanwhile", () => {
    const specs = new Map([["1", { name: "leaves something", status: "passed", messages: [] as string[] }]]);
    const rejections = new Rejections(specs);
    rejections.note("1", new Error("no room"));
    expect(rejections.own([`${prefix}: RematError: no room`, "expected 1 to be 2"], "2")).toEqual([
      "expected 1 to be 2",
    ]);
    expect(specs.get("1")).toEqual({
      name: "leaves something",
      status: "failed",
      messages: [`${prefix}, after the spec: no room`],
    });
  });

  it("is not taken from the spec that began it while that runs, nor what nobody is known to have begun", () => {
    const rejections = new Rejections(new Map());
    rejections.note("1", new Error("no room"));
    const messages = [`${prefix}: RematError: no room`, `${prefix}: Error: lost`];
    expect(rejections.own(messages, "1")).toEqual(messages);
    expect(rejections.own(messages, "2")).toEqual([messages[1]]);
    expect(rejections.own(messages)).toEqual([messages[1]]);
  });
});
