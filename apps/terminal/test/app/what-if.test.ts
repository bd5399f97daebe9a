import { answerUsualWhatIfs, answerWhatIf, stepsAtHand } from "@remat/fit";
import { answeredWhatIf, refusedWhatIf, type WhatIfRow } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
import { expect, it } from "vitest";
import type { AnswerWhatIfs } from "../../src/app/host.js";
import type { WhatIfState } from "../../src/views/what-if-view.js";
import { transformer } from "../traces.js";
import { appOf, makeApp, screenText } from "./make-app.js";

const trace = await transformer();
const device = deviceSpec("a100");
const stateOf = (app: { readonly state: { readonly own: Readonly<Record<string, unknown>> } }): WhatIfState =>
  app.state.own["whatIf"] as WhatIfState;

it("answers of a recorded trace what is usual, then what is typed, as fit does; what it cannot tell is refused with the next step", async () => {
  const { app, press } = appOf(trace, { view: "whatIf", size: { columns: 120, rows: 40 } });
  await app.runner.works.finish();
  const { trace: shown } = app.document;
  const steps = stepsAtHand([{ name: app.document.name.title, trace: shown }]);
  const present = { trace: shown, steps, device: app.document.settings.meantFor, pricedFor: device };
  const expected: WhatIfRow[] = [];
  for await (const row of answerUsualWhatIfs(present)) expected.push(row);
  expect(stateOf(app).usual).toEqual(expected);
  press("i", ..."device=h100, world=4,no-reshard", "enter");
  await app.runner.works.finish();
  const [asked] = stateOf(app).asked;
  expect(asked).toEqual(await answerWhatIf(present, "device=h100, world=4,no-reshard"));
  const text = screenText(app).join("\n");
  expect(text).toContain(`as it is: ${expected[0].answer}`);
  expect(text).toContain(`with device=h100, world=4,no-reshard: ${asked.answer}`);
  press("i", ..."batch=64", "enter");
  await app.runner.works.finish();
  expect(screenText(app).join("\n").replaceAll(/\s+/g, " ")).toMatch(/Record the step at another batch as well/);
});

it("asks again of the step under other settings", async () => {
  const { app } = appOf(trace, { view: "whatIf" });
  await app.runner.works.finish();
  const before = stateOf(app).usual;
  app.dispatch({ kind: "key", key: "7" });
  app.dispatch({ kind: "key", key: "right" });
  app.dispatch({ kind: "key", key: "9" });
  await app.runner.works.finish();
  expect(stateOf(app).usual).toHaveLength(before.length);
  expect(stateOf(app).usual[0].answer).not.toBe(before[0].answer);
});

it("has whoever traces models answer of one, and tells why that fails; Esc takes no answer any more", async () => {
  const step = { peakBytes: 5e6, bytesByCategory: {}, stepMs: 2, device };
  const asked: (string | undefined)[] = [];
  let finish: () => void = () => undefined;
  const answerWhatIfs: AnswerWhatIfs = (path, question, { onRow }) => {
    asked.push(question);
    expect(path).toBe("/net.js");
    if (question === "batch=9") return Promise.reject(new Error("no such batch"));
    onRow(answeredWhatIf(question ?? "as it is", step));
    return question === "batch=7" ? new Promise((resolve) => (finish = resolve)) : Promise.resolve();
  };
  const { app, press } = makeApp({ view: "whatIf", host: { answerWhatIfs } });
  app.show("net", "/net.js", trace, true);
  await app.runner.works.finish();
  press("i", ..."batch=8", "enter");
  await app.runner.works.finish();
  press("i", ..."batch=9", "enter");
  await app.runner.works.finish();
  expect(asked).toEqual([undefined, "batch=8", "batch=9"]);
  expect(stateOf(app).asked).toEqual([refusedWhatIf("batch=9", "no such batch"), answeredWhatIf("batch=8", step)]);
  press("i", ..."batch=10", "enter", "esc");
  finish();
  await app.runner.works.finish();
  expect(stateOf(app).asked).toHaveLength(2);
});
