/** @typedef {import("./run-specs.js").SpecRun} SpecRun */

/**
 * A baseline run with fewer specs, or with a lower share that passes, is not what tfjs ships, so comparing with it
 * would prove nothing.
 */
const fewest = { ofCore: 4000, ofLayers: 2000, passedShare: 0.9 };

/**
 * Describes the baseline run: `ok` unless so much is missing that a comparison with it is meaningless.
 *
 * @param {SpecRun} stock
 * @param {string} where
 * @param {boolean} [isOfLayers]
 * @returns {readonly string[]}
 */
export function describeStock(stock, where, isOfLayers = false) {
  const ran = stock.specs.filter(({ status }) => status === "passed" || status === "failed");
  const failed = ran.filter(({ status }) => status === "failed").length;
  const ok =
    ran.length >= (isOfLayers ? fewest.ofLayers : fewest.ofCore) &&
    failed <= ran.length * (1 - fewest.passedShare) &&
    stock.errors.length === 0;
  return [
    `${ok ? "ok    " : "not ok"}  ${where}, stock: ${ran.length} specs, ${failed} fail by themselves${errorsOf(stock)}`,
  ];
}

/**
 * Describes whether a run fails where the baseline does not: a line for the run, and one for each such spec.
 *
 * @param {SpecRun} stock
 * @param {SpecRun} run
 * @param {string} where
 * @param {string} work what `run.work` counts
 * @returns {readonly string[]}
 */
export function compareRuns(stock, run, where, work) {
  const before = outcomes(stock);
  const after = outcomes(run);
  const lines = [];
  for (const [name, { status, messages }] of after)
    if (status === "failed" && before.get(name)?.status !== "failed")
      lines.push(`not ok  ${where}: ${name}: ${oneLine(messages[0] ?? "no reason given")}`);
  for (const [name, { status }] of before)
    if (status !== after.get(name)?.status && after.get(name)?.status !== "failed")
      lines.push(`not ok  ${where}: ${name}: ${status} in stock, ${after.get(name)?.status ?? "not there"} with it`);
  for (const { name, message } of run.errors) lines.push(`not ok  ${where}: ${name}: ${oneLine(message)}`);
  const ok = lines.length === 0 && run.work > 0;
  return [
    `${ok ? "ok    " : "not ok"}  ${where}: ${after.size} specs, ${lines.length} differ from stock, ${run.work} ${work}`,
    ...lines,
  ];
}

/**
 * Outcomes by name. Specs with the same name are matched in order.
 *
 * @param {SpecRun} run
 */
function outcomes({ specs }) {
  /** @type {Map<string, SpecRun["specs"][number]>} */
  const byName = new Map();
  for (const spec of specs) {
    let name = spec.name;
    for (let i = 2; byName.has(name); i++) name = `${spec.name} (${i})`;
    byName.set(name, spec);
  }
  return byName;
}

/** @param {SpecRun} run */
function errorsOf({ errors }) {
  return errors.map(({ name, message }) => `; ${name}: ${oneLine(message)}`).join("");
}

/** @param {string} text */
function oneLine(text) {
  return text.replace(/\s+/g, " ").trim().slice(0, 300);
}
