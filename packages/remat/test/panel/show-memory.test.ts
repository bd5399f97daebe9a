import { expect, test } from "vitest";
import { showMemory } from "../../src/panel/index.js";

test("there is none without a page, nor for other options", () => {
  expect(() => showMemory()).toThrow(expect.objectContaining({ code: "NO_PAGE" }));
  expect(() => showMemory({ steps: 0 })).toThrow(expect.objectContaining({ code: "ARGUMENT" }));
  expect(() => showMemory({ wide: true } as never)).toThrow(expect.objectContaining({ code: "ARGUMENT" }));
});
