import { describeTrace, firstDifference, type Golden, goldensOf, sampledCases } from "@remat/testkit";
import { type AtenTensor, atenArguments, EventKind, OpFlag, Phase, RuntimeSource, type Trace } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { pyTorchDevice, readPyTorchTrace } from "../src/index.js";

const goldens = ["sac-oracle/1", "rt-oracle/1", "mem-oracle/1", "fsdp-oracle/1"].flatMap((schema) => goldensOf(schema));

interface GoldenOp {
  readonly f: number;
  readonly a: unknown;
  readonly k?: unknown;
  readonly o: unknown;
  readonly p: readonly number[];
  readonly bw?: number;
}

const opsOf = (golden: Golden): readonly GoldenOp[] =>
  golden["events"].filter((event: { e: string; raised?: string }) => event.e === "op" && event.raised === undefined);

function tensorsIn(value: unknown): number[] {
  if (typeof value === "string") return value.startsWith("%") ? [Number(value.slice(1))] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(tensorsIn);
}

function describeTensor(trace: Trace, tensor: number): unknown {
  return [
    trace.tensorDtype(tensor),
    trace.tensorShape(tensor),
    Array.from(
      trace.tensors.strides.values.subarray(
        trace.tensors.strides.start[tensor],
        trace.tensors.strides.start[tensor + 1],
      ),
    ),
    trace.tensorStorages(tensor).map((s) => trace.storages.bytes[s]),
  ];
}

const byText = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** Storages reported while the hook before the module's first forward pass runs. */
function storagesGoneThrough(golden: Golden, fqn: string): ReadonlySet<number> | undefined {
  const { events, fqns } = golden as unknown as { events: { e: string; m: number; s: number[] }[]; fqns: string[] };
  const begin = events.findIndex((event) => event.e === "pre_fw" && fqns[event.m] === fqn);
  if (begin < 0) return undefined;
  const end = events.findIndex((event, i) => i > begin && event.e === "hook_done");
  return new Set(events.slice(begin + 1, end).flatMap((event) => (event.e === "ref" ? event.s : [])));
}

/** Storages known to the run's memory tracker: those reported to it, and those that ops returned. */
function trackedStorages(golden: Golden): ReadonlySet<number> | undefined {
  if (golden.schema !== "mem-oracle/1" && golden.schema !== "fsdp-oracle/1") return undefined;
  const told = golden["events"].flatMap((event: { e: string; s: number[] }) => (event.e === "ref" ? event.s : []));
  const returned = opsOf(golden).flatMap((op) => tensorsIn(op.o).flatMap((t) => [golden["tensors"][t].s].flat()));
  return new Set([...told, ...returned]);
}

/** Modules whose backward passes have more recorded starts than ends, and those with more ends than starts. */
function oneSidedPasses(golden: Golden): readonly [unended: ReadonlySet<string>, unbegun: ReadonlySet<string>] {
  const fqns = golden["fqns"] as readonly string[];
  const told = (kind: string): string[] =>
    golden.schema === "rt-oracle/1"
      ? golden["results"][`mod_${kind === "pre_bw" ? "bw_pre" : "bw_post"}_order`]
      : golden["events"].filter((event: { e: string }) => event.e === kind).map(({ m }: { m: number }) => fqns[m]);
  const count = (list: readonly string[], fqn: string) => list.filter((one) => one === fqn).length;
  const [begun, ended] = golden.schema === "fsdp-oracle/1" ? [[], []] : [told("pre_bw"), told("post_bw")];
  const more = (a: readonly string[], b: readonly string[]) =>
    new Set(a.filter((fqn) => count(a, fqn) > count(b, fqn)));
  return [more(begun, ended), more(ended, begun)];
}

describe.each(goldens)("$file.name", ({ golden }) => {
  const trace = readPyTorchTrace(golden);
  const ops = opsOf(golden);

  test("has every op with its tensors in argument order", () => {
    expect(trace.ops.count).toBe(ops.length);
    const tracked = trackedStorages(golden);
    const known = (t: number) => {
      const { dt, sh, st, s } = golden["tensors"][t];
      const bytes = (id: number): number =>
        tracked === undefined || tracked.has(id) ? golden["storages"][id].bytes : 0;
      return [dt, sh, st ?? [], [s].flat().map(bytes)];
    };
    const ours = ops.map((_, i) => [
      trace.opName(i),
      Array.from(trace.opInputs(i), (t) => describeTensor(trace, t)),
      Array.from(trace.opOutputs(i), (t) => describeTensor(trace, t)),
    ]);
    const theirs = ops.map((op) => [
      golden["funcs"][op.f].name,
      [...tensorsIn(op.a), ...tensorsIn(op.k)].map(known),
      tensorsIn(op.o).map(known),
    ]);
    expect(firstDifference(ours, theirs)).toBeUndefined();
  });

  test("tells storages apart exactly as the file does", () => {
    const ours = new Map<number, number>();
    const seen: number[] = [];
    const before: number[] = [];
    const see = (trace: Trace, tensor: number, theirs: number) => {
      const storages = trace.tensorStorages(tensor);
      [golden["tensors"][theirs].s].flat().forEach((s: number, i: number) => {
        seen.push(storages[i]);
        before.push(ours.get(s) ?? storages[i]);
        ours.set(s, storages[i]);
      });
    };
    ops.forEach((op, i) => {
      for (const [n, t] of [...tensorsIn(op.a), ...tensorsIn(op.k)].entries()) see(trace, trace.opInputs(i)[n], t);
      for (const [n, t] of tensorsIn(op.o).entries()) see(trace, trace.opOutputs(i)[n], t);
    });
    expect(firstDifference(seen, before)).toBeUndefined();
    expect(new Set(ours.values()).size).toBe(ours.size);
  });

  const [unended, unbegun] = oneSidedPasses(golden);

  test("has the module stack that PyTorch's ModTracker had", () => {
    const stacks = ops.map((op, i) => {
      const theirs = op.p.map((q) => golden["fqns"][q]).filter((fqn) => fqn !== "Global");
      const ours = Array.from(trace.opCalls(i), (call) => trace.modules[trace.calls.module[call]].fqn);
      // But for modules whose backward pass upstream believes to go on to the end.
      const leftOver = theirs.filter((fqn) => unended.has(fqn) && !ours.includes(fqn));
      return [[...ours, ...leftOver].sort(byText), theirs.sort(byText)];
    });
    const [ours, theirs] = [0, 1].map((side) => stacks.map((stack) => stack[side]));
    expect(firstDifference(ours, theirs)).toBeUndefined();
  });

  test("keeps the structure of the arguments", () => {
    const plain = (value: unknown): unknown =>
      typeof value === "string"
        ? value.startsWith("%")
          ? golden["tensors"][Number(value.slice(1))].sh
          : value === "float:inf"
            ? Infinity
            : value.replace(/^str:(torch\.)?/, "")
        : Array.isArray(value)
          ? value.map(plain)
          : value;
    const decoded = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(decoded)
        : typeof value === "object" && value !== null
          ? trace.tensorShape((value as AtenTensor).tensor)
          : value;
    const some = ops.map((_, i) => i).filter((i) => i % 7 === 0);
    const ours = some.map((i) => {
      const { args, kwargs, out } = atenArguments(trace, i);
      return [args.map(decoded), Object.values(kwargs).map(decoded), decoded(out)];
    });
    const theirs = some.map((i) => {
      const { a, k = {}, o = null } = ops[i];
      return [(a as unknown[]).map(plain), Object.values(k as object).map(plain), plain(o)];
    });
    expect(firstDifference(ours, theirs)).toBeUndefined();
  });

  test("derives the flags that PyTorch reports", () => {
    const hasRandomFlag = (func: { packet?: string }) => func.packet !== "_scaled_dot_product_flash_attention";
    const ours = ops.map((op, i) => {
      const func = golden["funcs"][op.f];
      const has = (flag: number) => (trace.ops.flags[i] & flag) !== 0;
      const random = hasRandomFlag(func) ? has(OpFlag.random) : "either";
      return [func.name, has(OpFlag.view), has(OpFlag.inPlace), has(OpFlag.sacSkip), random];
    });
    const theirs = ops.map((op) => {
      const func = golden["funcs"][op.f];
      const random = hasRandomFlag(func) ? func.nondeterministic_seeded : "either";
      return [func.name, func.is_view_fn || func.is_inplace_view_fn, func.is_inplace, func.sac_skip, random];
    });
    expect(firstDifference(ours, theirs)).toBeUndefined();
  });

  test("knows the parameters and buffers in each module", () => {
    const tree: { fqn: string; params?: [string, unknown][]; buffers?: [string, unknown][] }[] = golden["module_tree"];
    expect(trace.header.moduleCount).toBe(tree.length);
    for (let i = 0; i < trace.weights.count; i++) {
      const { fqn } = trace.modules[trace.weights.module[i]];
      // A memory tracker visits the weights of each module. In other goldens the module tree lists them.
      const gone = storagesGoneThrough(golden, fqn);
      const inside = tree.filter(
        (module) => gone !== undefined || module.fqn === fqn || module.fqn.startsWith(`${fqn}.`),
      );
      const shapes = (kind: "params" | "buffers") => {
        const ids = inside.flatMap((module) => module[kind] ?? []).map(([, tensor]) => tensor);
        return [...new Set(ids)]
          .filter((id) => typeof id === "number" && (gone === undefined || gone.has(golden["tensors"][id].s)))
          .map((id) => golden["tensors"][id as number].sh);
      };
      const ours = (rows: Trace["weights"]["parameters"]) =>
        Array.from(rows.values.subarray(rows.start[i], rows.start[i + 1]), (t) => trace.tensorShape(t));
      expect([fqn, ours(trace.weights.parameters)]).toEqual([fqn, shapes("params")]);
      expect([fqn, ours(trace.weights.buffers)]).toEqual([fqn, shapes("buffers")]);
    }
    expect(trace.weights.count).toBe(trace.modules.length);
  });

  test("opens and closes module calls in pairs", () => {
    const open: string[] = [];
    for (let i = 0; i < trace.events.count; i++) {
      const kind = trace.events.kind[i];
      if (kind !== EventKind.enterModule && kind !== EventKind.exitModule) continue;
      const row = trace.events.subject[i];
      const key = `${trace.moduleEvents.call[row]}/${trace.moduleEvents.phase[row]}`;
      const { fqn } = trace.modules[trace.calls.module[trace.moduleEvents.call[row]]];
      if (kind === EventKind.enterModule) open.push(key);
      else if (!open.includes(key)) expect([...unbegun]).toContain(fqn);
      else expect(open.splice(open.lastIndexOf(key), 1)).toEqual([key]);
    }
  });
});

test.each(sampledCases(goldens, 4))("$file.name is not changed by the answers in the file", ({ golden }) => {
  const answers = new Set([
    "t",
    "mem",
    "ip",
    "v",
    "r",
    "rb",
    "wb",
    "flops",
    "fdt",
    "cur",
    "i",
    "start",
    "fsr",
    "saved",
    "new",
    "current",
    "peak",
  ]);
  const stripped = {
    ...golden,
    results: undefined,
    funcs: golden["funcs"].map(({ name }: { name: string }) => ({ name })),
    events: golden["events"].map((event: { e: string }) =>
      Object.fromEntries(
        Object.entries(event).filter(([key]) => !answers.has(key) || (event.e === "ref" && key === "r")),
      ),
    ),
  };
  expect(readPyTorchTrace(stripped)).toEqual(readPyTorchTrace(golden));
});

test("reads the device that the run was priced on", () => {
  expect(pyTorchDevice(goldens[0].golden)).toEqual({
    name: "cuda:0",
    tflops: { bfloat16: 312, float16: 312, float32: 19.5, float64: 19.5 },
    memoryGBps: 2039,
    allocationUnitBytes: 512,
    source: "the exporter's config, torch 2.13.0+cpu",
  });
});

describe("bad files", () => {
  const { golden } = goldensOf("sac-oracle/1")[0];
  test.each([
    ["nothing", null, "PYTORCH_FILE", /expected an object with 'schema', found null/],
    [
      "another schema",
      { schema: "sac-oracle/2" },
      "PYTORCH_SCHEMA",
      /unknown schema "sac-oracle\/2": expected one of sac-oracle\/1/,
    ],
    ["no schema", {}, "PYTORCH_SCHEMA", /unknown schema \(none\)/],
    [
      "no events",
      { ...golden, events: undefined },
      "PYTORCH_FILE",
      /field 'events' of a sac-oracle\/1 file: expected a list/,
    ],
    [
      "a name that is none",
      { ...golden, fqns: ["Net", { a: 1 }] },
      "PYTORCH_FILE",
      /field 'fqns', item 1: expected a name/,
    ],
    [
      "a function that is none",
      { ...golden, funcs: [null] },
      "PYTORCH_FILE",
      /'funcs', item 0: expected an object.*found null/,
    ],
    [
      "a tensor without a storage",
      { ...golden, tensors: [{ dt: "float32", sh: [1], st: [1] }] },
      "PYTORCH_FILE",
      /field 'tensors', item 0: expected storages 's', 'dt'.*found {"dt":"float32"/,
    ],
    [
      "a module whose tensor is not there",
      { ...golden, module_tree: [{ fqn: "Net", type: "Net", params: [["w", 999]] }] },
      "PYTORCH_FILE",
      /sac_.*expected a tensor below \d+, found 999/,
    ],
    [
      "a run on no device",
      { ...golden, config: { ...golden.config, device: null } },
      "PYTORCH_FILE",
      /field 'config': expected a 'device'/,
    ],
    [
      "an unknown event",
      { ...golden, events: [{ e: "boo" }] },
      "PYTORCH_FILE",
      /event 0 \("boo"\).*unknown kind of event "boo"/,
    ],
    [
      "a tensor too many",
      { ...golden, events: [{ e: "op", f: 0, a: ["%999"], o: null }] },
      "PYTORCH_FILE",
      /event 0.*expected a tensor below \d+, found 999/,
    ],
    [
      "a module too many",
      { ...golden, events: [{ e: "pre", m: 999, leaf: 0, in: [] }] },
      "PYTORCH_FILE",
      /event 0.*expected an index below \d+ among modules, found 999/,
    ],
    [
      "a function too many",
      { ...golden, events: [{ e: "op", f: 99, a: [], o: null }] },
      "PYTORCH_FILE",
      /expected an index below \d+ in 'f', found 99/,
    ],
    [
      "an unknown category",
      { ...golden, events: [{ e: "ref", s: [0], r: "Boo" }] },
      "PYTORCH_FILE",
      /expected one of .* found "Boo"/,
    ],
  ])("%s", (_, file, code, message) => {
    expect(() => readPyTorchTrace(file)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });
});

describe("tensors saved by autograd", () => {
  const file = (events: readonly object[]) => ({
    schema: "mem-oracle/1",
    case: "saves",
    config: { device: "cpu", tflops: {}, dram_gbps: 0, min_allocate: 1, torch: "2.13.0" },
    module_tree: [],
    funcs: [{ name: "aten.relu.default" }],
    fqns: [],
    storages: [
      { bytes: 4, dev: "cpu" },
      { bytes: 8, dev: "cpu" },
    ],
    tensors: [{ s: [0, 1], dt: "float32", sh: [1], st: [1] }],
    events: [{ e: "ref", s: [0, 1], r: "Inputs" }, ...events],
  });

  test("is read with when it is asked for and given back, by storage, and ops with what they took", () => {
    const trace = readPyTorchTrace(
      file([
        { e: "pack", s: [0] },
        { e: "pack", s: [0, 1] },
        { e: "saved_only", s: 1 },
        { e: "op", f: 0, a: [], o: null, ms: 1.5, runs: 3 },
        { e: "unpack", n: 1 },
        { e: "unsave", n: 1 },
        { e: "unsave", n: 0 },
      ]),
    );
    expect(describeTrace(trace)).toEqual([
      "+s0 4 B input",
      "+s1 8 B input",
      "save s0 other",
      "save s0 other",
      "save s1 other",
      "savedOnly 1 0",
      "op 0 aten.relu.default() =  forward",
      "unpack 1 0",
      "unpack 2 0",
      "unsave 1 0",
      "unsave 2 0",
      "unsave 0 0",
    ]);
    expect([trace.ops.runtimeMs[0], trace.ops.runtimeSource[0], trace.ops.runtimeRuns[0]]).toEqual([
      1.5,
      RuntimeSource.measured,
      3,
    ]);
  });

  test("comes beside what kernels hold while they run, and what is held without a tensor", () => {
    const of = (config: object, event: object) => {
      const { config: before, ...rest } = file([{ e: "op", f: 0, a: [], o: null, ...event }]);
      return readPyTorchTrace({ ...rest, config: { ...before, ...config } });
    };
    const checkpointing = { frame: 0.2, selective: 0.1, save: 0.01, dispatch: 0.02, count: 0, rerun: 0.01 };
    const trace = of({ besides: 512, host_ms: 2.5, checkpoint_ms: checkpointing }, { ws: 64 });
    expect(describeTrace(trace)).toEqual([
      "+s0 512 B other",
      "+s1 4 B input",
      "+s2 8 B input",
      "+s3 64 B temporary",
      "-s3",
      "op 0 aten.relu.default() =  forward",
    ]);
    expect(trace.header).toMatchObject({ hostMs: 2.5, checkpointingMs: checkpointing });
    expect(trace.header.notes).toEqual([expect.stringMatching("^512 bytes in use are in no tensor")]);
    for (const name of ["hostMs", "checkpointingMs"]) expect(of({}, {}).header).not.toHaveProperty(name);
    expect(() => of({ besides: -1 }, {})).toThrow("expected 'besides' to be bytes, found -1");
    expect(() => of({ host_ms: "2" }, {})).toThrow(`expected 'host_ms' to be milliseconds, found "2"`);
    expect(() => of({ checkpoint_ms: { ...checkpointing, save: -1 } }, {})).toThrow(
      "expected 'checkpoint_ms' to be milliseconds of frame, selective, save, dispatch, count, rerun, found {",
    );
    expect(() => of({}, { ws: "64" })).toThrow("expected bytes in 'ws', found \"64\"");
  });

  test("comes with a note for whatever is not as usual: an op that raised, CUDA's kernels, a run that raised", () => {
    const relu = { e: "op", f: 0, a: [], o: null };
    const { config, ...rest } = file([relu, { ...relu, raised: "RuntimeError" }]);
    const raised = "aten.relu.default raised RuntimeError and is left out";
    const plain = readPyTorchTrace({ ...rest, config });
    expect(plain.header.notes).toEqual([raised]);
    expect(plain.ops.count).toBe(1);
    const error = { type: "ValueError", msg: "no data" };
    expect(readPyTorchTrace({ ...rest, config: { ...config, kernels: "cuda" }, error }).header.notes).toEqual([
      "attention and dropout are the kernels that CUDA has",
      "the run raised ValueError: no data",
      raised,
    ]);
    expect(readPyTorchTrace({ ...rest, config: { ...config, kernels: "cpu" } }).header.notes).toEqual([raised]);
    expect(readPyTorchTrace(file([relu])).header.notes ?? []).toEqual([]);
  });

  test("cannot be given back before it was saved", () => {
    expect(() =>
      readPyTorchTrace(
        file([
          { e: "pack", s: [0] },
          { e: "unsave", n: 1 },
        ]),
      ),
    ).toThrow("expected one of the 1 tensors saved before in 'n', found 1");
  });
});

describe("a step that was recorded in other dtypes, too", () => {
  const golden = goldensOf("mem-oracle/1").find(({ file }) => file.name === "mem_min_adam")!.golden;

  test("is read in each", () => {
    const trace = readPyTorchTrace({ ...golden, recorded_in: { bfloat16: golden } });
    const alone = readPyTorchTrace(golden);
    expect([...trace.recordedIn.keys()]).toEqual(["bfloat16"]);
    for (const run of [trace, trace.recordedIn.get("bfloat16")!])
      expect(describeTrace(run)).toEqual(describeTrace(alone));
    expect(alone.recordedIn.size).toBe(0);
  });

  test("is refused where one of them is no file", () => {
    for (const [other, found] of [
      [[golden], "object"],
      [null, "null"],
      [3, "number"],
    ])
      expect(() => readPyTorchTrace({ ...golden, recorded_in: other })).toThrow(
        `field 'recorded_in' of a mem-oracle/1 file: expected files by dtype, found ${found}.`,
      );
    expect(() => readPyTorchTrace({ ...golden, recorded_in: { bfloat16: {} } })).toThrow("unknown schema");
    expect(() => readPyTorchTrace({ ...golden, recorded_in: { bfloat16: { ...golden, events: 3 } } })).toThrow(
      "field 'events'",
    );
  });
});

describe("an in-place op on the result of the module before", () => {
  const golden = goldensOf("mem-oracle/1").find(({ file }) => file.name === "mem_vit_adam")?.golden;
  const trace = golden === undefined ? undefined : readPyTorchTrace(golden);
  const { events, fqns } = (golden ?? { events: [], fqns: [] }) as unknown as {
    events: { e: string; m: number }[];
    fqns: string[];
  };

  test("does not keep its module active when the backward pass of the one around it is over", () => {
    if (trace === undefined) return;
    const over = new Map<string, number>();
    let op = 0;
    for (const event of events) {
      if (event.e === "op") op++;
      if (event.e === "post_bw") over.set(fqns[event.m], op);
      if (event.e === "pre_fw") over.delete(fqns[event.m]);
    }
    const inPlace = [0, 1, 2].map((block) => `ViTFresh.blocks.${block}.attn.proj_drop`);
    for (const fqn of inPlace) {
      const active = Array.from({ length: trace.ops.count }, (_, i) => i).filter((i) =>
        [...trace.opCalls(i)].some((call) => trace.modules[trace.calls.module[call]].fqn === fqn),
      );
      expect(active.length).toBeGreaterThan(0);
      expect(active.at(-1)).toBeLessThan(over.get("ViTFresh.blocks.0.attn") as number);
    }
  });

  test("loses no end of a backward pass whose beginning is not told", () => {
    if (trace === undefined) return;
    const ends = new Map<string, number>();
    const { kind, subject, count } = trace.events;
    for (let i = 0; i < count; i++) {
      const row = subject[i];
      if (kind[i] !== EventKind.exitModule || trace.moduleEvents.phase[row] !== Phase.backward) continue;
      const { fqn } = trace.modules[trace.calls.module[trace.moduleEvents.call[row]]];
      ends.set(fqn, (ends.get(fqn) ?? 0) + 1);
    }
    const told = events.filter((event) => event.e === "post_bw" && fqns[event.m]?.endsWith("attn.proj"));
    expect(told.length).toBeGreaterThan(0);
    for (const { m } of told) expect(ends.get(fqns[m])).toBe(told.filter((event) => event.m === m).length);
  });
});
