import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { allowClosedPipe, terminalColumns } from "../src/console-io.js";

it("lets a reader close the pipe, and nothing else", () => {
  const stream = new EventEmitter();
  allowClosedPipe(stream);
  const fail = (code: string) => () => stream.emit("error", Object.assign(new Error(code), { code }));
  expect(fail("EPIPE")).not.toThrow();
  expect(fail("ENOSPC")).toThrow("ENOSPC");
});

it("takes a terminal that has no columns, as a serial line says, for a usual one", () => {
  expect([0, undefined, 132].map((columns) => terminalColumns({ ...(columns !== undefined && { columns }) }))).toEqual([
    80, 80, 132,
  ]);
});
