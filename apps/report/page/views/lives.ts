import { categoryColours, describeStorageLife, formatBytes, labelCategory, type StorageLife } from "@remat/reporting";
import { timelineMargin } from "../charts/timeline-scene.js";
import { fill, h, s } from "../dom.js";
import { latest } from "../latest.js";
import { shade } from "../theme.js";
import type { TimelineModel } from "./timeline-model.js";

/** In a longer range there are too many storages to distinguish. */
const mostOps = 400;
const mostLanes = 16;
const laneHeight = 18;

/**
 * Mounts single storages below the timeline, each as a bar from allocation to free that is pale after its last use. The
 * storages are those allocated by the selected op, and the largest ones in a zoomed range. A click on a storage zooms
 * to its lifetime and selects the op that allocated it.
 */
export function mountLives(model: TimelineModel): { readonly element: HTMLElement; draw(): void } {
  const { engine, overview, store, plan } = model.context;
  const { names, ops } = overview;
  const box = h("div", { class: "lives" });
  const note = h("p", { class: "note", role: "status" });
  const element = h("div", { hidden: true }, box, note);
  const ask = latest();
  let lives: readonly StorageLife[] = [];
  let asked = "";

  const opName = (op: number): string => names[ops.name[op]] ?? "";
  const tell = (life: StorageLife): string =>
    `${formatBytes(life.bytes)} ` +
    `${labelCategory(life.category).toLowerCase()}${life.tensor === undefined ? "" : `, ${life.tensor}`}${life.module === undefined ? "" : `, ${life.module}`}: ` +
    `${describeStorageLife(life, opName)}`;
  const follow = (life: StorageLife): void => {
    const room = Math.max(4, Math.round(0.05 * (life.freedBefore - life.bornAt)));
    model.show({ from: life.bornAt - room, to: life.freedBefore + room });
    store.update({ op: life.bornAt });
    fill(note, `${tell(life)}.`);
  };
  const lane = (life: StorageLife): HTMLElement => {
    const stretch = model.stretch();
    const { axis } = store.state;
    const at = (op: number): number =>
      Math.min(1, Math.max(0, model.axis.placeOf(Math.min(op, ops.count), stretch, axis)));
    const width = model.plotWidth;
    const [born, idle, freed] = [life.bornAt, Math.max(life.bornAt, life.lastOp) + 1, life.freedBefore].map(
      (op) => width * at(op),
    );
    const colour = shade(categoryColours[life.category]);
    const bar = (from: number, to: number, opacity: number): SVGElement =>
      s("rect", {
        x: from,
        y: 3,
        width: Math.max(1.5, to - from),
        height: laneHeight - 6,
        fill: colour,
        "fill-opacity": opacity,
      });
    return h(
      "button",
      { type: "button", title: `${tell(life)}. A click follows it.`, onclick: () => follow(life) },
      h("span", { class: "hidden" }, tell(life)),
      h("span", { class: "size", "aria-hidden": "true" }, formatBytes(life.bytes)),
      s(
        "svg",
        { width, height: laneHeight, viewBox: `0 0 ${width} ${laneHeight}`, "aria-hidden": "true" },
        freed > idle && bar(idle, freed, 0.3),
        bar(born, Math.min(idle, freed), 1),
      ),
    );
  };
  const draw = (): void => {
    if (element.hidden) return;
    box.style.setProperty("padding-right", `${timelineMargin.right}px`);
    fill(box, ...lives.map(lane));
  };
  store.follow(({ op }, changed) => {
    const { from, to } = model.stretch();
    const isNear = to - from <= mostOps;
    element.hidden = (op < 0 && !isNear) || plan.shown.index >= 0;
    if (element.hidden) return;
    const wanted = isNear ? `${from} ${to} ${op}` : `${op}`;
    if (wanted === asked) return draw();
    asked = wanted;
    if (changed.has("op") && op < 0) fill(note, "");
    ask(
      () => engine.lives(isNear ? { from, to, op, limit: mostLanes } : { from: op, to: op, op, limit: 4 }),
      (answer) => {
        lives = answer;
        if (op >= 0 && answer[0]?.bornAt === op) fill(note, `${tell(answer[0])}.`);
        draw();
      },
    );
  });
  plan.follow(({ index }) => {
    if (index >= 0) element.hidden = true;
  });
  return { element, draw };
}
