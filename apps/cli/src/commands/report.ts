import { basename, isAbsolute, resolve } from "node:path";
import { planCheckpointing } from "@remat/planner/node";
import { type MakeReportOptions, makeReport, planAsTrace, renderReport } from "@remat/report";
import type { DeviceToFit, Verdict } from "@remat/reporting/verdict";
import { type Plan, RuntimeSource, type Trace } from "@remat/trace";
import { terminal } from "@remat/trace/emit";
import { isStandardOutput } from "@remat/trace/files";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { unitsOption } from "../format-option.js";
import { loadTrace, optionsForRecorded } from "../load-trace.js";
import { type ModelOptions, parseModelOptions, predictOption, recordOptions, stepOptions } from "../model-options.js";
import { writeFor } from "../output.js";
import { parseTimeMs } from "../plan/plan-options.js";
import { type ShownStep, stepToShow } from "../plan/step-to-show.js";
import { priceModel } from "../price-model.js";
import { parsePricing, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { extractTo } from "../report/extract-to.js";
import { openFile } from "../report/open-file.js";
import { type ReportSource, reportSource } from "../report/report-source.js";
import { parseSharding } from "../sharding-option.js";
import { parseCount, parseText, UsageError } from "../usage-error.js";
import { commandOfSubject, commandToFollow } from "../verdict/follow-plan.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { verdictText } from "../verdict/show-verdict.js";
import { versionText } from "../version.js";
import { usualWhatIfs, usualWhatIfsBeside } from "../what-if/usual-what-ifs.js";

const defaultOutput = "report.html";

/** `remat report`. */
export const reportCommand: Command = {
  options: [
    ...stepOptions,
    ...recordOptions,
    predictOption,
    ...pricingOptions,
    unitsOption,
    {
      flags: "--top <n>",
      access: "data",
      purpose: "How many of the largest storages at the peak to list",
      default: 12,
    },
    {
      flags: "--compare <other>",
      access: "file",
      reads: true,
      purpose: "Another run, or a plan for this one, beside it",
    },
    {
      flags: "--fsdp <plan>",
      access: "name or file",
      purpose: "Also predict one rank of many: world=8,wrap='layers.*',bf16, or a file of a plan",
    },
    { flags: "--time <time>", access: "data", purpose: "How long to look for plans: 8s (default), 500ms, 0 for none" },
    {
      flags: "--iterations <n>",
      access: "data",
      purpose: "How many changes to try instead: the same number gives the same plans",
    },
    {
      flags: "-o, --output <file>",
      access: "output",
      purpose: `Write the report there (default: ${defaultOutput})`,
      writes: "text or gzip",
      writesByDefault: (_targets, { extract }) => (extract === undefined ? defaultOutput : undefined),
    },
    { flags: "--open", access: "code", purpose: "Open it in a browser" },
    {
      flags: "--extract <report>",
      access: "file",
      reads: true,
      purpose: "Read a report back: its summary as JSON, or with -o run.remat.jsonl.gz its run",
    },
  ],
  examples: [
    "remat report model.json --batch 8 -o report.html --open",
    "remat report predicted.remat.jsonl.gz --compare measured.remat.jsonl.gz",
    "remat report --extract report.html -o run.remat.jsonl.gz",
  ],
  takes: ["model", "run", "plan"],
  run: ([model], options, io) => report(model, options, io),
};

/** Writes (`remat report MODEL|TRACE|PLAN`) one HTML file that shows where memory goes, and what it would cost to spend less. */
export async function report(model: string | undefined, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const text = (name: string) => (options[name] === undefined ? undefined : parseText(name, options[name]));
  const output = text("output");
  const extract = text("extract");
  if (extract !== undefined) {
    if (model !== undefined)
      throw new UsageError(`--extract reads a report and makes none: leave out ${JSON.stringify(model)}.`);
    return extractTo(extract, output, io);
  }
  if (model === undefined)
    throw new UsageError(
      "expected a model, a trace or a plan: remat report model.json, or a report to read: --extract.",
    );
  const path = output ?? defaultOutput;
  if (path.endsWith(".gz"))
    throw new UsageError(`-o ${path}: a report is written for a browser to open. Name a file without .gz.`);
  const isFile = !isStandardOutput(path);
  if (!isFile && options["open"] === true)
    throw new UsageError("--open opens a file, and -o names standard output. Leave out one of them.");
  const progress = new Progress(io);
  const ended = new AbortController();
  try {
    const source = reportSource(model);
    const other = text("compare");
    const compared = other === undefined ? undefined : reportSource(other);
    // Of a plan and a run, the run is what is shown, and the plan is laid over it.
    const run = source.kind === "run" ? source : compared?.kind === "run" ? compared : undefined;
    const planned = source.kind === "plan" ? source : compared?.kind === "plan" ? compared : undefined;
    // By the name of its file, as it was typed.
    const planPath = planned === source ? model : (other ?? "");
    const plan = planned && { plan: planned.plan, name: basename(planPath) };
    const load = async (each: ReportSource & { kind: "run" }): Promise<ShownStep> => {
      const loaded = await loadRun(each, plan?.plan, options, progress);
      progress.clear();
      return loaded;
    };
    const { trace, planned: stepPlanned } =
      run === undefined ? { trace: planAsTrace(planOf(source).plan) } : await load(run);
    const comparedTrace = source.kind === "run" && compared?.kind === "run" ? (await load(compared)).trace : undefined;
    const present = run && {
      source: run.model,
      options: parseModelOptions(options),
      pricing: parsePricing(options),
      other: comparedTrace && compared && { name: compared.name, trace: comparedTrace },
    };
    const beside = present && usualWhatIfsBeside(trace, present, ended.signal);
    // Who waits for it hears of it.
    beside?.catch(() => undefined);
    // Of a plan alone there is no run to judge.
    const target = run === source || other === undefined ? model : other;
    const given = run && { target, source: run.model, options };
    const verdict =
      given &&
      (await giveVerdict(
        trace,
        {
          ...given,
          pricing: parsePricing(options),
          planned: stepPlanned,
          ...(plan && { command: commandToFollow(given, stepPlanned ?? trace, { plan: plan.plan, path: planPath }) }),
        },
        progress,
      ));
    const shown: MakeReportOptions = {
      verdict: verdict && withoutFolders(verdict, [target, planPath]),
      limit: parseCount("top", options["top"] ?? 12),
      title: trace.header.model ?? source.name,
      from: run === undefined ? "plan" : run.model.gives === "run" ? "trace" : "model",
      pricedFor: pricedFor(trace, options),
      madeBy: `remat ${versionText()}`,
      source: isAbsolute(model) ? basename(model) : model,
      planCheckpointing,
      planned: stepPlanned,
      fsdp: fsdpOf(options),
      ...planningEffort(options),
      ...(plan !== undefined &&
        (run === undefined
          ? {
              planAlone: {
                ...plan,
                following: commandOfSubject(plan.plan.subject, plan.name),
                ...deviceOfPlan(plan.plan, options),
              },
            }
          : { plan })),
      ...(comparedTrace && compared && { compare: { name: compared.name, trace: comparedTrace } }),
      ...(present && {
        whatIfs:
          beside?.catch(() => usualWhatIfs(trace, present, progress)) ?? (await usualWhatIfs(trace, present, progress)),
      }),
      onProgress: (what) => progress.show(`${source.name}: ${what}`),
    };
    const data = await makeReport(trace, shown);
    progress.show("writing", true);
    await writeFor("-o", path, renderReport(data), io);
    progress.clear();
    if (isFile && run !== undefined) io.stdout.write(verdictText(verdict, io));
  } finally {
    ended.abort();
    progress.clear();
  }
  if (isFile) io.stderr.write(terminal`remat: wrote ${path}\n`);
  if (options["open"] === true) await openFile(resolve(path), io);
}

/** Folders of this machine are nobody else's business; what was typed as a relative path is told as it was typed. */
function withoutFolders(verdict: Verdict, paths: readonly string[]): Verdict {
  const folderless = (text: string): string =>
    paths.filter((path) => isAbsolute(path)).reduce((told, path) => told.replaceAll(path, basename(path)), text);
  const { command, facts, sentence } = verdict;
  return {
    ...verdict,
    command: command && folderless(command),
    facts: facts.map(folderless),
    sentence: folderless(sentence),
  };
}

/** Of a step of a model, or of any for which a device was asked for: what a program ran on, its plan does not say. */
function deviceOfPlan({ subject }: Plan, options: CommandOptions): { readonly device?: DeviceToFit } {
  const { device, isAsked } = parsePricing(options);
  return isAsked || subject.step !== undefined ? { device } : {};
}

function planOf(source: ReportSource): ReportSource & { kind: "plan" } {
  if (source.kind !== "plan") throw new UsageError("expected a plan.");
  return source;
}

async function loadRun(
  { model }: ReportSource & { kind: "run" },
  plan: Plan | undefined,
  options: CommandOptions,
  progress: Progress,
): Promise<ShownStep> {
  const parsed = parseModelOptions(options);
  // What was recorded cannot be built otherwise; options that say how to build a model are for the other side then.
  const isForOther = options["compare"] !== undefined && model.gives === "run";
  const price = async (each: ModelOptions): Promise<Trace> =>
    (await priceModel(model, each, parsePricing(options), progress, { damaged: "keep" })).trace;
  if (isForOther) return { trace: await price(optionsForRecorded(parsed)) };
  if (options["compare"] !== undefined && plan === undefined) return { trace: await price(parsed) };
  return stepToShow(model, parsed, { trace: (each) => loadTrace(model, each, progress), price }, plan);
}

/** The sharding plan, by what was typed. */
function fsdpOf({ fsdp }: CommandOptions): MakeReportOptions["fsdp"] {
  return fsdp === undefined ? undefined : { name: parseText("fsdp", fsdp), plan: parseSharding(fsdp) };
}

/** The device whose figures the times are made of, if they are. */
function pricedFor(trace: Trace, options: CommandOptions) {
  return trace.ops.runtimeSource.includes(RuntimeSource.roofline) ? parsePricing(options).device : undefined;
}

function planningEffort(options: CommandOptions): Pick<MakeReportOptions, "planTimeMs" | "planIterations"> {
  const { time, iterations } = options;
  if (iterations !== undefined) return { planIterations: parseCount("iterations", iterations) };
  if (time === undefined) return {};
  return { planTimeMs: /^0+(\.0*)?(ms|s|m|min)?$/.test(String(time)) ? 0 : parseTimeMs(time) };
}
