import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryTimeline } from "@remat/memory";
import { extractReport } from "@remat/report";
import { sampledCases } from "@remat/testkit";
import { parseTrace } from "@remat/trace";
import { beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const golden = (name: string): string =>
  fileURLToPath(new URL(`../../../tooling/testkit/goldens/${name}.json.gz`, import.meta.url));
const adam = golden("mem_03_mlp_adam");
const tellingSaves = fileURLToPath(
  new URL("../../../packages/sharding/test/fixtures/plain-tf.json.gz", import.meta.url),
);
const folder = mkdtempSync(join(tmpdir(), "remat-report-"));
const path = (name: string): string => join(folder, name);
const report = (name: string) => extractReport(readFileSync(path(name), "utf8"));

beforeAll(async () => {});

describe("remat report", () => {
  it("writes one file, from which everything can be read back", async () => {
    const run = await remat("report", adam, "--iterations", "300", "-o", path("adam.html"));
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(
      /^Fits: peak memory is [\d.]+ MiB of 80 GiB \(A100, the default; --device here for this machine\)\.\n[^]*  remat plan .* --max-overhead 5%\n$/,
    );
    expect(run.stderr).toContain("wrote ");
    const { meta, trace } = report("adam.html");
    expect(meta.summary.peak?.totalBytes).toBe(Math.max(...memoryTimeline(trace).highestBytes));
    // A plan that is the same for more time is named once.
    const recommended = meta.plans?.recommended ?? [];
    const allowed = recommended.map(({ allowedOverhead }) => allowedOverhead);
    expect(allowed).toEqual([0, 0.05, 0.2].filter((share) => allowed.includes(share)));
    expect(new Set(recommended.map(({ peakBytes }) => peakBytes)).size).toBe(recommended.length);
    expect(recommended.length).toBeGreaterThan(0);
    const html = readFileSync(path("adam.html"), "utf8");
    expect(html).not.toMatch(/(?:src|href)="https?:/);

    const summary = await remat("report", "--extract", path("adam.html"));
    const json = JSON.parse(summary.stdout);
    expect(json).toMatchObject({ format: "remat-report/1", title: meta.title });
    expect(json.summary.peak.totalBytes).toBe(Math.max(...memoryTimeline(trace).highestBytes));
    expect((await remat("report", "--extract", path("adam.html"), "-o", path("run.remat.jsonl.gz"))).code).toBe(0);
    const back = parseTrace(readFileSync(path("run.remat.jsonl.gz")), { name: "run" });
    expect(back.ops).toEqual(trace.ops);
    expect(back.events).toEqual(trace.events);
  });

  it("lists as many storages as are asked for, and writes sizes in the unit that is", async () => {
    const options = ["--time", "0", "--units", "MiB", "-o", path("top.html")];
    const run = await remat("report", adam, ...options, "--top", "3");
    expect(run.stdout).toMatch(/^Fits: peak memory is [\d.]+ of 81920\.\d+ MiB \(A100/);
    const { peak } = report("top.html").meta.summary;
    expect(peak?.largest).toHaveLength(3);
    await remat("report", adam, ...options);
    expect(report("top.html").meta.summary.peak?.largest.slice(0, 3)).toEqual(peak?.largest);
    expect(report("top.html").meta.summary.peak!.largest.length).toBeGreaterThan(3);
  });

  it.each([60, 80, 120])("tells the verdict in %i columns", async (width) => {
    const { stdout } = await remat("report", adam, "--time", "0", "-o", path("w.html"), "--width", String(width));
    for (const line of stdout.split("\n")) if (!/^ *remat /.test(line)) expect(line.length).toBeLessThanOrEqual(width);
    expect(stdout.replace(adam, "run.json.gz")).toMatchSnapshot();
  });

  it("reports a model that it traces itself", async () => {
    const model = fileURLToPath(new URL("../../../examples/foo/model.js", import.meta.url));
    const run = await remat(
      "report",
      model,
      "--size",
      "tiny",
      "--optimizer",
      "adam",
      "--time",
      "0",
      "-o",
      path("foo.html"),
    );
    expect(run.code).toBe(0);
    const { meta, trace } = report("foo.html");
    expect(meta.from).toBe("model");
    expect(meta.noPlans).toBe("planning was disabled (--time 0)");
    // The step is one like all others: the optimizer's state is there.
    expect(meta.summary.categories.map(({ category }) => category)).toContain("optimizerState");
    expect(trace.header.framework).toBe("tfjs");
  });

  it.each(sampledCases(["mobilenet_v1", "resnet50"], 2))("takes less than a megabyte for %s", async (name) => {
    const model = fileURLToPath(new URL(`../../../examples/keras/${name}.model.json`, import.meta.url));
    expect((await remat("report", model, "--batch", "8", "--time", "0", "-o", path("large.html"))).code).toBe(0);
    expect(statSync(path("large.html")).size).toBeLessThan(1_000_000);
  });

  it("lays a plan over its run, whichever of the two is named first, and reports a plan alone", async () => {
    const planned = await remat("plan", adam, "--budget", "95%", "--iterations", "300", "-o", path("plan.json"));
    expect(planned.code).toBe(0);
    for (const [first, second] of [
      [adam, path("plan.json")],
      [path("plan.json"), adam],
    ]) {
      expect((await remat("report", first, "--compare", second, "--time", "0", "-o", path("both.html"))).code).toBe(0);
      const { meta, followed } = report("both.html");
      expect(meta.from).toBe("trace");
      expect(meta.overlays).toEqual([]);
      expect(meta.followed.at(-1)?.name).toBe("plan.json");
      expect(followed.at(-1)?.sequence.length).toBeGreaterThan(0);
    }
    expect((await remat("report", path("plan.json"), "--time", "0", "-o", path("plan.html"))).code).toBe(0);
    expect(report("plan.html").meta).toMatchObject({ from: "plan" });
    const other = await remat(
      "report",
      golden("mem_04_cnn_adam"),
      "--compare",
      path("plan.json"),
      "-o",
      path("no.html"),
    );
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("Name the run that was planned");
    expect(existsSync(path("no.html"))).toBe(false);
  });

  it("goes on from a plan to the step after it, and plans a step anew of which it is not", async () => {
    const model = fileURLToPath(new URL("../../../examples/foo/model.js", import.meta.url));
    const step = ["--size", "tiny", "--optimizer", "adam"];
    const next = (name: string) => report(name).meta.answers.find(({ about }) => about === "next");
    const make = async (...args: string[]) => expect(await remat(...args)).toMatchObject({ code: 0 });
    const budget = ["--budget", "95%", "--iterations", "100"];
    await make("plan", model, ...step, ...budget, "-o", path("foo plan.json"));
    await make(
      ...["report", model, ...step, "--compare", path("foo plan.json"), "--time", "0", "-o", path("next.html")],
    );
    expect(next("next.html")?.command).toBe("remat run model.js --size tiny --optimizer adam --plan 'foo plan.json'");
    await make("report", path("foo plan.json"), "--time", "0", "-o", path("next.html"));
    expect(next("next.html")).toMatchObject({
      command: "remat run MODEL --plan 'foo plan.json'",
      reasons: ["MODEL is the file of Foo."],
    });

    const { budgetBytes: asked } = JSON.parse(readFileSync(path("foo plan.json"), "utf8")).origin;
    await make(
      ...["report", model, ...step, "--batch", "5", "--compare", path("foo plan.json"), "--time", "0"],
      ...["-o", path("next.html")],
    );
    expect(next("next.html")?.command).toBe(
      `remat plan model.js --batch 5 --size tiny --optimizer adam --budget ${asked}B -o plan.json`,
    );

    // PyTorch follows a policy, not a plan.
    await make("plan", adam, ...budget, "-o", path("adam.json"));
    await make("report", adam, "--compare", path("adam.json"), "--time", "0", "-o", path("next.html"));
    const { budgetBytes } = JSON.parse(readFileSync(path("adam.json"), "utf8")).origin;
    expect(next("next.html")?.command).toBe(
      `remat plan ${basename(adam)} --budget ${budgetBytes}B --pytorch-policy policy.json`,
    );
  });

  it("compares two runs, and shards one", async () => {
    const run = await remat(
      ...["report", golden("mem_tf_b2_adam"), "--compare", golden("mem_tf_b2_ac_adam"), "--fsdp", "world=4,reshard"],
      ...["--time", "0", "-o", path("compared.html")],
    );
    expect(run.code).toBe(0);
    const { meta } = report("compared.html");
    expect(meta.comparison?.name).toBe("mem_tf_b2_ac_adam");
    expect(meta.overlays.map(({ key }) => key)).toEqual(["compare", "fsdp"]);
  });

  it.each([
    // An older recording does not say what checkpointing would hold, so that nothing can be planned of it.
    ["memory", adam, "", /Parameter shards/],
    ["plan", tellingSaves, ` --budget 80GiB`, /^planned: world=4,bf16/m],
  ])("goes on with the ranks that were asked for, by a command that works: %s", async (name, trace, more, told) => {
    const run = await remat("report", trace, "--fsdp", "world=4,bf16", "--time", "0", "-o", path("ranks.html"));
    expect(run.code).toBe(0);
    const command = report("ranks.html").meta.answers.find(({ about }) => about === "next")?.command;
    expect(command).toBe(`remat ${name} ${basename(trace)} --fsdp world=4,bf16${more}`);
    const next = await remat(...command!.replace(basename(trace), trace).split(" ").slice(1));
    expect({ code: next.code, stderr: next.stderr }).toEqual({ code: 0, stderr: "" });
    expect(next.stdout).toMatch(told);
  });

  it("says which of two runs breaks off, there and beside it", async () => {
    const cut = path("cut.remat.jsonl");
    await remat("memory", golden("mem_03_mlp_adam"), "--trace", path("whole.remat.jsonl"));
    const lines = readFileSync(path("whole.remat.jsonl"), "utf8").split("\n");
    writeFileSync(cut, `${lines.slice(0, Math.floor(0.7 * lines.length)).join("\n")}\n`);
    const run = await remat(
      "report",
      path("whole.remat.jsonl"),
      "--compare",
      cut,
      "--time",
      "0",
      "-o",
      path("cut.html"),
    );
    expect(run.stderr).toMatch(/^remat: .*cut\.remat\.jsonl: the trace is cut short after line \d+ /m);
    expect(readFileSync(path("cut.html"), "utf8")).toMatch(/cut: the trace is cut short after line \d+ /);
  });

  it("loses no file that was there when writing fails", async () => {
    mkdirSync(path("taken.html/inside"), { recursive: true });
    const run = await remat("report", adam, "--time", "0", "-o", path("taken.html"));
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/cannot be written .*Choose another file with -o\.\n$/);
    expect(readdirSync(path("taken.html"))).toEqual(["inside"]);
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it.each([
    [["report"], 2, "Name a model, a trace or a plan"],
    [["report", adam, "--extract", "report.html"], 2, "--extract reads an existing report"],
    [["report", "--extract", "none.html"], 1, "none.html: cannot be read"],
    [["report", adam, "--time", "soon"], 2, "--time expects a time"],
    [["report", adam, "--batch", "3"], 2, "--batch cannot change"],
    [["report", "nowhere.json"], 1, "nowhere.json: no such file"],
  ])("refuses %j", async (args, code, message) => {
    const run = await remat(...args);
    expect(run.stderr).toContain(message);
    expect(run.code).toBe(code);
  });

  it("refuses what is no report, and a graph", async () => {
    writeFileSync(path("page.html"), "<html></html>");
    expect(await remat("report", "--extract", path("page.html"))).toMatchObject({ code: 1 });
    writeFileSync(path("graph.json"), '{"schema": "rematerialization-graph/1", "nodes": [], "edges": []}');
    const run = await remat("report", path("graph.json"));
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("is a graph, which has no run to report");
  });
});
