import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { allowClosedPipe } from "../src/console-io.js";

it("lets a reader close the pipe, and nothing else", () => {
  const stream = new EventEmitter();
  allowClosedPipe(stream);
  const fail = (code: string) => () => stream.emit("error", Object.assign(new Error(code), { code }));
  expect(fail("EPIPE")).not.toThrow();
  expect(fail("ENOSPC")).toThrow("ENOSPC");
});
