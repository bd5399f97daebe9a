// Runs one campaign, told as JSON by its argument, and tells its parent what it tries and finds. The parent compiles what it runs: a census of the heap, of
// which leaks take several a program, walks all that is in this one.
import { runSources } from "@remat/testkit/run-sources";

/** @type {Map<number, (answer: any) => void>} */
const asking = new Map();
let asked = 0;
process.on("message", (/** @type {{ answers: number, answer: any }} */ { answers, answer }) => {
  asking.get(answers)?.(answer);
  asking.delete(answers);
});
const invoke = (/** @type {any} */ request) =>
  new Promise((resolve) => {
    asking.set(++asked, resolve);
    process.send?.({ asks: asked, request });
  });

const [, , path, request] = process.argv;
const fuzz = /** @type {typeof import("./src/index.js")} */ (await runSources(path, invoke));
const tell = (/** @type {import("./src/index.js").CampaignMessage} */ message) => process.send?.(message);
await fuzz.runCampaign({ ...JSON.parse(request), tell });
// A backend of tfjs may keep threads.
process.disconnect?.();
