import { RematError } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { judgeAllocatorLog, readAllocatorLogs } from "../../src/failure/index.js";
import { otherTexts, outOfMemoryTexts } from "./out-of-memory-texts.js";

describe("an out-of-memory text", () => {
  it.each(outOfMemoryTexts.map((each) => [each.of, each] as const))(
    "of %s is judged",
    (_of, { text, verdicts, log }) => {
      const logs = readAllocatorLogs(text);
      expect(logs.map(judgeAllocatorLog)).toEqual(verdicts);
      expect(logs.at(-1)).toMatchObject(log ?? {});
      expect(readAllocatorLogs(text.replaceAll("\n", "\r\n"))).toEqual(logs);
    },
  );

  it("is found in the midst of a log", () => {
    const line = "INFO step 1200 loss 0.31 lr 3e-4\n";
    for (const { text, verdicts } of outOfMemoryTexts) {
      const logs = readAllocatorLogs(`${line.repeat(50)}${text}\n${line.repeat(50)}`);
      expect([text, ...logs.map(judgeAllocatorLog)]).toEqual([text, ...verdicts]);
    }
  });

  it.each(otherTexts)("is not: %s", (text) => {
    expect(() => readAllocatorLogs(text)).toThrow(RematError);
  });
});
