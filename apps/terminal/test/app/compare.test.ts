import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { expect, it } from "vitest";
import { resnet50, transformer } from "../traces.js";
import { appOf, own, screenText, tableOf } from "./make-app.js";

const [first, second] = await Promise.all([transformer(), resnet50()]);

function comparing(other = priceTrace(first, deviceSpec("h100"))) {
  const made = appOf(first, { view: "compare", size: { columns: 120, rows: 40 } });
  made.app.dispatch({ kind: "compareWith", title: "other", path: undefined, trace: other });
  made.press("6");
  return made;
}

it("goes by s through what modules are compared by, whose numbers the columns then show, and by S back", () => {
  const { app, press } = comparing();
  const seen: string[] = [];
  const numbers = new Set<string>();
  for (let i = 0; i < 4; i++) {
    const { quantity } = own(app).compare;
    seen.push(quantity);
    numbers.add(
      screenText(app)
        .filter((line) => line.includes("Transformer"))
        .join("\n"),
    );
    press("s");
  }
  expect(seen).toEqual(["memoryBytes", "savedBytes", "forwardMs", "backwardMs"]);
  expect(numbers.size).toBe(4);
  expect(own(app).compare.quantity).toBe("memoryBytes");
  press("S");
  expect(own(app).compare.quantity).toBe("backwardMs");
});

it("sorts by the difference only when asked to, and the mark at a column's head says what is so", () => {
  const { app, press } = comparing();
  expect(screenText(app).join("\n")).not.toMatch(/[▲▼]/);
  press("s", "s", "r");
  const { sort } = own(app).compare;
  expect(sort?.column).toBe("difference");
  expect(screenText(app).join("\n")).toMatch(sort!.descending ? /▼/ : /▲/);
  const { columns, rows } = tableOf(app);
  expect(columns).toContain("difference");
  expect(rows.length).toBeGreaterThan(10);
});

it("says of two different models that they are, and gives no change of a thousand per cent", () => {
  const { app } = comparing(second);
  const text = screenText(app).join("\n");
  expect(text.replace(/\s+/g, " ")).toContain("different models");
  expect(text).not.toMatch(/\d{4,}(\.\d)? %/);
});
