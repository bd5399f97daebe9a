import { basename, isAbsolute, resolve } from "node:path";
import { planCheckpointing } from "@remat/planner/node";
import { type MakeReportOptions, makeReport, planAsTrace, renderReport } from "@remat/report";
import type { DeviceToFit, Verdict } from "@remat/reporting/verdict";
import { type Plan, RuntimeSource, type Trace } from "@remat/trace";
import { terminal } from "@remat/trace/emit";
import { isStandardOutput } from "@remat/trace/files";
import { type Command, defineCommand, type Invocation, type OptionValues, option } from "../command.js";
import { unitsOption } from "../format-option.js";
import { loadTrace, optionsForRecorded } from "../load-trace.js";
import { type ModelOptions, modelOptionsOf, predictOption, recordOptions, stepOptions } from "../model-options.js";
import { writeFor } from "../output.js";
import { type ShownStep, stepToShow } from "../plan/step-to-show.js";
import { priceModel } from "../price-model.js";
import { pricingOf, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { extractTo } from "../report/extract-to.js";
import { openFile } from "../report/open-file.js";
import { type ReportSource, reportSource } from "../report/report-source.js";
import { parseSharding } from "../sharding-option.js";
import { parseTimeMs } from "../typed-quantities.js";
import { parseCount, UsageError } from "../usage-error.js";
import { expectVerdict } from "../verdict/expect-verdict.js";
import { commandOfSubject, commandToFollow } from "../verdict/follow-plan.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { verdictText } from "../verdict/show-verdict.js";
import { versionText } from "../version.js";
import { usualWhatIfs, usualWhatIfsBeside } from "../what-if/usual-what-ifs.js";

const defaultOutput = "report.html";

const options = [
  ...stepOptions,
  ...recordOptions,
  predictOption,
  ...pricingOptions,
  unitsOption,
  option("--top <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of largest storages to list at the peak",
    default: 12,
    parse: parseCount,
  }),
  option("--compare <other>", {
    group: "usual",
    access: "file",
    reads: true,
    purpose: "Another run, or a plan for this run, to compare with",
  }),
  option("--fsdp <plan>", {
    group: "usual",
    access: "name or file",
    purpose: "Also predict one rank of many: world=8,wrap='layers.*',bf16, or a plan file",
    parse: parseSharding,
  }),
  option("--time <time>", {
    group: "usual",
    access: "data",
    purpose: "Time to search for plans, such as 500ms, or 0 for no search (default: 8s)",
    parse: parsePlanTimeMs,
  }),
  option("--iterations <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of search iterations, instead of --time. The same number gives the same plans",
    parse: parseCount,
  }),
  option("-o, --output <file>", {
    group: "output",
    access: "output",
    purpose: `File of the report (default: ${defaultOutput})`,
    writes: "text or gzip",
    writesByDefault: (_targets, { extract }) => (extract === undefined ? defaultOutput : undefined),
  }),
  option("--open", { group: "output", access: "code", purpose: "Open the report in a browser" }),
  option("--extract <report>", {
    group: "output",
    access: "file",
    reads: true,
    purpose: "Read a report: print its summary as JSON, or write its run to a file with -o",
  }),
];

type ReportOptions = OptionValues<typeof options>;

export const reportCommand: Command = defineCommand({
  options,
  examples: [
    "remat report model.json --batch 8 -o report.html --open",
    "remat report predicted.remat.jsonl.gz --compare measured.remat.jsonl.gz",
    "remat report --extract report.html -o run.remat.jsonl.gz",
  ],
  takes: ["model", "run", "plan"],
  run: report,
});

/** Writes one HTML file that shows where memory goes, and the cost of reducing it (`remat report MODEL|TRACE|PLAN`). */
async function report({ targets, options: given, typedOptions, io }: Invocation<typeof options>): Promise<void> {
  const model = targets.at(0);
  const { output, extract, open: opens } = given;
  if (extract !== undefined) {
    if (model !== undefined)
      throw new UsageError(`--extract reads an existing report and takes no model. Remove ${JSON.stringify(model)}.`);
    return extractTo(extract, output, io);
  }
  if (model === undefined)
    throw new UsageError(
      "no input was given. Name a model, a trace or a plan (remat report model.json), or a report with --extract.",
    );
  const path = output ?? defaultOutput;
  if (path.endsWith(".gz"))
    throw new UsageError(`-o ${path}: browsers cannot open a compressed report. Name a file without .gz.`);
  const isFile = !isStandardOutput(path);
  if (!isFile && opens) throw new UsageError("--open needs a file, and -o names standard output. Remove one of them.");
  const progress = new Progress(io);
  const ended = new AbortController();
  try {
    const source = reportSource(model);
    const other = given.compare;
    const compared = other === undefined ? undefined : reportSource(other);
    // For a plan and a run, the run is shown with the plan drawn over it.
    const run = source.kind === "run" ? source : compared?.kind === "run" ? compared : undefined;
    const planned = source.kind === "plan" ? source : compared?.kind === "plan" ? compared : undefined;
    // The plan is named after its file, as typed.
    const planPath = planned === source ? model : (other ?? "");
    const plan = planned && { plan: planned.plan, name: basename(planPath) };
    const load = async (each: ReportSource & { kind: "run" }): Promise<ShownStep> => {
      const loaded = await loadRun(each, plan?.plan, given, progress);
      progress.clear();
      return loaded;
    };
    const { trace, planned: stepPlanned } =
      run === undefined ? { trace: planAsTrace(planOf(source).plan) } : await load(run);
    const comparedTrace = source.kind === "run" && compared?.kind === "run" ? (await load(compared)).trace : undefined;
    const present = run && {
      source: run.model,
      options: modelOptionsOf(given),
      pricing: pricingOf(given),
      other: comparedTrace && compared && { name: compared.name, trace: comparedTrace },
    };
    const beside = present && usualWhatIfsBeside(trace, present, ended.signal);
    // The error is handled where the result is awaited.
    beside?.catch(() => undefined);
    // A plan alone has no run to judge.
    const target = run === source || other === undefined ? model : other;
    const judged = present && {
      ...{ target, source: present.source, typedOptions, step: present.options, units: given.units },
    };
    const verdict =
      judged &&
      (await giveVerdict(
        trace,
        {
          ...judged,
          pricing: pricingOf(given),
          planned: stepPlanned,
          ...(plan && { command: commandToFollow(judged, stepPlanned ?? trace, { plan: plan.plan, path: planPath }) }),
        },
        progress,
      ));
    const shown: MakeReportOptions = {
      verdict: verdict && withoutFolders(verdict, [target, planPath]),
      limit: given.top,
      title: trace.header.model ?? source.name,
      from: run === undefined ? "plan" : run.model.gives === "run" ? "trace" : "model",
      pricedFor: pricedFor(trace, given),
      madeBy: `remat ${versionText()}`,
      source: isAbsolute(model) ? basename(model) : model,
      planCheckpointing,
      planned: stepPlanned,
      fsdp: given.fsdp,
      planIterations: given.iterations,
      planTimeMs: given.iterations === undefined ? given.time : undefined,
      ...(plan !== undefined &&
        (run === undefined
          ? {
              planAlone: {
                ...plan,
                following: commandOfSubject(plan.plan.subject, plan.name),
                ...deviceOfPlan(plan.plan, given),
              },
            }
          : { plan })),
      compare: comparedTrace && compared && { name: compared.name, trace: comparedTrace },
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
  if (opens) await openFile(resolve(path), io);
}

/** Removes this machine's folders from a verdict for privacy. Paths typed as relative stay. */
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

/** The device, for a step of a model or if one was requested. The plan of a program does not record its device. */
function deviceOfPlan({ subject }: Plan, given: ReportOptions): { readonly device?: DeviceToFit } {
  const { device, isAsked } = pricingOf(given);
  return isAsked || subject.step !== undefined ? { device } : {};
}

function planOf(source: ReportSource): ReportSource & { kind: "plan" } {
  if (source.kind !== "plan") throw new UsageError("--plan needs a plan file. Name one written by remat plan -o.");
  return source;
}

async function loadRun(
  { model }: ReportSource & { kind: "run" },
  plan: Plan | undefined,
  given: ReportOptions,
  progress: Progress,
): Promise<ShownStep> {
  const step = modelOptionsOf(given);
  // A recorded run cannot be rebuilt, so options about building a model apply to the other side.
  const isForOther = given.compare !== undefined && model.gives === "run";
  const price = async (each: ModelOptions): Promise<Trace> =>
    (await priceModel(model, each, pricingOf(given), progress, { damaged: "keep" })).trace;
  if (isForOther) return { trace: await price(optionsForRecorded(step)) };
  if (given.compare !== undefined && plan === undefined) return { trace: await price(step) };
  if (plan === undefined) expectVerdict(model, step);
  return stepToShow(model, step, { trace: (each) => loadTrace(model, each, progress), price }, plan);
}

/** The device that times were estimated for, or undefined if no time was estimated. */
function pricedFor(trace: Trace, given: ReportOptions) {
  return trace.ops.runtimeSource.includes(RuntimeSource.roofline) ? pricingOf(given).device : undefined;
}

/** Parses the search time for plans in milliseconds. 0 means no search. */
function parsePlanTimeMs(name: string, value: unknown): number {
  return /^0+(\.0*)?(ms|s|m|min)?$/.test(String(value)) ? 0 : parseTimeMs(name, value);
}
