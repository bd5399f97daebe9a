import { constants, gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseTrace, RematError, readTrace, type Trace } from "../src/index.js";
import { cutBytes, fileOf } from "./bytes.js";
import { tellTrace } from "./tell-trace.js";
import { threeOps } from "./three-ops.js";

const plain = fileOf(threeOps());
const told = tellTrace(threeOps());
const lines = new TextDecoder().decode(plain).trimEnd().split("\n");

/** How many events the first `count` lines tell, by the words of the format's description. */
function eventsIn(count: number): number {
  let events = 0;
  for (const line of lines.slice(1, count)) {
    const r = JSON.parse(line) as { t: string; s?: number[]; out?: unknown[] };
    if (r.t === "free") events += r.s?.length ?? 0;
    else if (r.t === "op")
      events += 1 + (r.out ?? []).filter((made) => typeof made === "object" && "bytes" in (made as object)).length;
    else if (!["module", "call", "scope", "tensor", "weights", "end"].includes(r.t)) events++;
  }
  return events;
}

/** Whole lines in a text; the last needs no line end. */
function wholeLines(text: string): number {
  const parts = text.split("\n");
  return parts.length - (parts.at(-1) === lines[parts.length - 1] ? 0 : 1);
}

function attempt(read: () => Trace): Trace | RematError {
  try {
    return read();
  } catch (error) {
    if (error instanceof RematError) return error;
    throw error;
  }
}

function expectPrefix(read: Trace | RematError, text: string, brokenGzip: boolean): void {
  const whole = wholeLines(text);
  if (whole === 0) {
    expect(read).toMatchObject({ code: "TRACE_NOT_A_TRACE" });
    return;
  }
  const trace = read as Trace;
  const { events, truncated, header } = tellTrace(trace);
  expect(header).toEqual(told["header"]);
  expect(events).toEqual((told["events"] as unknown[]).slice(0, eventsIn(whole)));
  const lastLineBreaksOff = !text.endsWith("\n") && text !== lines.slice(0, whole).join("\n");
  expect(truncated).toEqual(
    whole === lines.length
      ? undefined
      : {
          line: whole,
          reason: brokenGzip
            ? "the gzip data breaks off"
            : lastLineBreaksOff
              ? "the last line breaks off"
              : "there is no end record",
        },
  );
}

describe("a file that ends early", () => {
  it("is read up to its last whole record and says so, wherever it ends", async () => {
    for (let length = 0; length <= plain.length; length++) {
      const cut = plain.slice(0, length);
      const text = new TextDecoder().decode(cut);
      expectPrefix(
        attempt(() => parseTrace(cut)),
        text,
        false,
      );
      const streamed = await readTrace(cutBytes(cut, [length >> 1])).catch((error: unknown) => error as RematError);
      expectPrefix(streamed, text, false);
    }
  });

  it.each([
    ["this package", fileOf(threeOps(), { gzip: true })],
    ["zlib", new Uint8Array(gzipSync(plain))],
    ["zlib, flushed halfway", new Uint8Array(gzipSync(plain, { flush: constants.Z_FULL_FLUSH }))],
  ])("is read up to its last whole record when gzipped by %s, wherever it ends", async (_, bytes) => {
    for (let length = 1; length <= bytes.length; length++) {
      const cut = bytes.slice(0, length);
      const text = length < 10 ? "" : gunzipSync(cut, { finishFlush: constants.Z_SYNC_FLUSH }).toString("utf8");
      const read = attempt(() => parseTrace(cut));
      const streamed = await readTrace(cutBytes(cut, [3, length >> 1])).catch((error: unknown) => error as RematError);
      expect(streamed instanceof RematError ? streamed.message : tellTrace(streamed)).toEqual(
        read instanceof RematError ? read.message : tellTrace(read),
      );
      // The decompressor looks ahead, so it may stop short of the last bytes that zlib would give.
      const shorter = [text, text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1)];
      const fits = shorter.some((prefix) => {
        try {
          expectPrefix(read, prefix, length < bytes.length);
          return true;
        } catch {
          return false;
        }
      });
      if (!fits) expectPrefix(read, text, length < bytes.length);
    }
  });
});
