import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { atNight } from "@remat/testkit";
import { afterAll, describe, expect, it } from "vitest";
import {
  type CallFault,
  callsOf,
  checkCallFault,
  errorCodes,
  orders,
  removeFaultyAgent,
} from "./faults/run-with-fault.js";

afterAll(removeFaultyAgent);

/**
 * `REMAT_EVERY_FAULT=call` has every call fail, alone and with all after it; `error` does so with each error. That takes ten minutes, or an hour.
 * `REMAT_FAULT_COUNT=60` tries so many of them, evenly spread.
 */
const every = process.env["REMAT_EVERY_FAULT"];
const count = Number(process.env["REMAT_FAULT_COUNT"] ?? Number.POSITIVE_INFINITY);
const atOnce = 3;
/** Maximum number of faults to try for each command, unless every fault is requested. */
const mostTried = atNight ? 14 : 7;

/** Which faults are tried of a program that makes these calls: some of the calls that differ from the one before them, with the next error of the list. */
function faultsOf(calls: readonly string[]): readonly CallFault[] {
  const all = calls.map((_, at) => at);
  const codeOf = (i: number): string => errorCodes[i % errorCodes.length];
  if (every === "error")
    return all.flatMap((at) => errorCodes.flatMap((code) => [true, false].map((keeps) => ({ at, code, keeps }))));
  if (every === "call")
    return all.flatMap((at) => [true, false].map((keeps) => ({ at, code: codeOf(2 * at + Number(keeps)), keeps })));
  const turns = all.filter((at) => calls[at] !== calls[at - 1] || at === calls.length - 1);
  const some = turns.filter((_, i) => i % Math.ceil(turns.length / mostTried) === 0);
  return some.map((at, i) => ({ at, code: codeOf(i), keeps: i % 3 > 0 }));
}

/** Remat makes the same calls for a size as for a percentage, so only the night tries both budgets. */
const names = Object.keys(orders).filter((name) => atNight || every !== undefined || name !== "exec --budget 1GB");

describe.each(names)("under %s, whichever call of remat's fails", (name) => {
  it("a program does what it does alone, and what is missing is said", async () => {
    const all = faultsOf(await callsOf(name));
    const faults = all.filter(
      (_, i) =>
        count >= all.length || Math.floor(((i + 1) * count) / all.length) > Math.floor((i * count) / all.length),
    );
    expect(faults.length).toBeGreaterThan(5);
    const wrong: string[] = [];
    const work = async (): Promise<void> => {
      for (let fault = faults.pop(); fault !== undefined; fault = faults.pop()) {
        const found = await checkCallFault(name, fault);
        if (found !== undefined) wrong.push(`${JSON.stringify(fault)}: ${found}`);
      }
    };
    const tried = faults.length;
    await Promise.all(Array.from({ length: atOnce }, work));
    const counted = process.env["REMAT_FAULTS_COUNTED"];
    if (counted !== undefined)
      writeFileSync(join(counted, encodeURIComponent(name)), `${tried} ${wrong.length}\n${wrong.join("\n")}\n`);
    expect(wrong).toEqual([]);
  }, 3_600_000);
});
