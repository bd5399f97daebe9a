import { formatBytes, formatChange, type TimeFormat, type WhatIfRow, whatIfTable } from "@remat/reporting";
import type { Trace } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import { deviceOfSettings } from "../document/settings.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction, type ViewRequest } from "../state/view.js";
import type { ViewAnswer, WhatIfSubject } from "../state/work.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";

export interface WhatIfState extends ListPlace {
  /** The step that the answers are for, or undefined before a question was asked. */
  readonly trace: Trace | undefined;
  /** The second trace that the answers also depend on. */
  readonly other: Trace | undefined;
  /** Typed questions with their answers, the latest first, including the one in progress. */
  readonly asked: readonly WhatIfRow[];
  /** The usual questions, after the step as it is. */
  readonly usual: readonly WhatIfRow[];
  /** The question that is being answered. */
  readonly pending: string | undefined;
  readonly isDone: boolean;
}

export type WhatIfKey = "ask";

const nothingAsked = { asked: [], usual: [], pending: undefined, isDone: false };

/** Memory and time of the step with another batch, optimizer, precision or device, or over several ranks. */
export const whatIfView: View<WhatIfState, WhatIfKey> = {
  name: "whatIf",
  title: "What if",
  shortTitle: "If",
  terms: [
    ["batch=largest", "the largest batch that fits as the step runs"],
    ["world=8", "FSDP over 8 ranks; behind it what --fsdp takes: wrap='h.*', no-reshard, bf16"],
  ],
  keys: [{ keys: ["i"], action: "ask", help: "type another question; Esc stops the current one", hint: "ask" }],
  initial: () => ({ cursor: 0, top: 0, trace: undefined, other: undefined, ...nothingAsked }),
  reduce,
  settle(scene, own) {
    const begun = begin(scene, own);
    return { ...begun, own: settlePlace(begun.own, rowsOf(begun.own).length, tableRoom(scene, begun.own)) };
  },
  draw: drawWhatIf,
  search(_scene, own) {
    const rows = rowsOf(own);
    return { count: rows.length, text: (index) => rows[index].question, current: own.cursor };
  },
  table: ({ document }, own) => whatIfTable(document.name.title, rowsOf(own)),
  copied: (_scene, own) => rowsOf(own)[own.cursor]?.question,
};

/** Asks the usual questions when the view is first shown, and again for another step. */
function begin(scene: Scene, own: WhatIfState): Outcome<WhatIfState> {
  const { trace } = scene.document;
  const other = scene.run.other?.trace;
  if (own.trace === trace && own.other === other) return { own };
  return {
    own: { ...own, ...nothingAsked, trace, other },
    requests: [
      { kind: "stopWork", work: "whatIf" },
      { kind: "work", work: { kind: "usualWhatIfs", trace, of: subjectOf(scene) } },
    ],
  };
}

function subjectOf({ document, run, device }: Scene): WhatIfSubject {
  const { settings, name } = document;
  return {
    name: name.title,
    path: name.isModel === true ? name.path : undefined,
    other: run.other && { name: run.other.name.title, trace: run.other.trace },
    device: deviceOfSettings(settings),
    pricedFor: settings.device ?? device,
  };
}

function reduce(scene: Scene, own: WhatIfState, action: ViewAction<WhatIfKey>): Outcome<WhatIfState> {
  const count = rowsOf(own).length;
  switch (action.kind) {
    case "key":
      return { own, requests: [asking("")] };
    case "enter":
      return { own, requests: [asking(own.cursor === 0 ? "" : questionAt(own))] };
    case "move":
      return { own: moveBy(own, action.by, count) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, count) };
    case "click":
      return { own: action.target.kind === "row" ? { ...own, cursor: action.target.index } : own };
    case "choose":
      return { own: { ...own, cursor: action.index } };
    case "back":
      if (own.pending === undefined) return { own, requests: [{ kind: "leave" }] };
      return { own: { ...own, pending: undefined }, requests: [{ kind: "stopWork", work: "whatIf" }] };
    case "accepted":
      return ask(scene, own, action.text.trim());
    case "answer":
      return { own: answered(own, action.answer) };
    case "typed":
    case "arrive":
      return { own };
  }
}

/** The question at the cursor as it can be typed again, without text that its answer added. */
const questionAt = (own: WhatIfState): string =>
  rowsOf(own)[own.cursor]?.question.replace(/: \d{1,15}(?:, and[^]*)?$/, "") ?? "";

function asking(text: string): ViewRequest {
  return {
    kind: "ask",
    label: "what if: ",
    text,
    hint: "e.g. batch=64, optimizer=adam, device=h100 or world=8,no-reshard",
  };
}

function ask(scene: Scene, own: WhatIfState, question: string): Outcome<WhatIfState> {
  if (question === "") return { own };
  const { trace } = scene.document;
  return {
    own: { ...own, pending: question },
    requests: [{ kind: "work", work: { kind: "whatIf", trace, of: subjectOf(scene), question } }],
  };
}

function answered(own: WhatIfState, answer: ViewAnswer): WhatIfState {
  switch (answer.kind) {
    case "usualWhatIf":
      return answer.trace === own.trace ? { ...own, usual: [...own.usual, answer.row] } : own;
    case "usualWhatIfsDone":
      return answer.trace === own.trace ? { ...own, isDone: true } : own;
    case "whatIfAnswered":
      if (answer.trace !== own.trace || own.pending === undefined) return own;
      return { ...own, pending: undefined, asked: [answer.row, ...own.asked], cursor: Math.min(1, own.usual.length) };
    default:
      return own;
  }
}

/** The step as it is, then typed questions, then the usual ones. */
function rowsOf({ asked, usual }: WhatIfState): readonly WhatIfRow[] {
  return [...usual.slice(0, 1), ...asked, ...usual.slice(1)];
}

const right = "right" as const;

function columnsFor(presentBytes: number | undefined, formatTime: TimeFormat): readonly TableColumn<WhatIfRow>[] {
  return [
    { key: "question", title: "With", width: 22, grow: 1, cell: ({ question }) => question },
    {
      key: "peak",
      title: "Peak",
      width: 10,
      align: right,
      cell: ({ peakBytes }) => (peakBytes === undefined ? "n/a" : formatBytes(peakBytes)),
    },
    {
      key: "change",
      title: "Change",
      width: 9,
      align: right,
      priority: 2,
      cell: ({ peakBytes }) =>
        peakBytes === undefined || !presentBytes || peakBytes === presentBytes
          ? ""
          : formatChange(peakBytes / presentBytes - 1),
    },
    {
      key: "fits",
      title: "Fits",
      width: 4,
      cell: ({ fits }) => (fits === undefined ? "" : [{ text: fits ? "yes" : "no", style: fits ? "good" : "bad" }]),
    },
    {
      key: "step",
      title: "Step",
      width: 10,
      align: right,
      priority: 3,
      cell: ({ stepMs }) => (stepMs === undefined ? "" : formatTime(stepMs)),
    },
  ];
}

/** The verdict on the question at the cursor next to that on the step as it is, and the question in progress. */
function answerLines(scene: Scene, own: WhatIfState): readonly Line[] {
  const { width } = scene.area;
  const rows = rowsOf(own);
  const [present] = rows;
  const chosen = rows[Math.min(own.cursor, rows.length - 1)];
  const told = (label: string, row: WhatIfRow, isFaint: boolean): readonly Line[] =>
    wrapText(`${label}: ${row.answer}`, width, "  ").map(
      (text): Line =>
        fitLine(
          [
            {
              text,
              style: isFaint
                ? "faint"
                : row.peakBytes === undefined
                  ? "warning"
                  : row.fits === false
                    ? "bad"
                    : "strong",
            },
          ],
          width,
          scene.look.glyphs,
        ),
    );
  const waiting = own.pending ?? (own.isDone ? undefined : "what is usual");
  return [
    ...(present === undefined ? [] : told(present.question, present, chosen !== present)),
    ...(chosen === undefined || chosen === present ? [] : told(`with ${chosen.question}`, chosen, false)),
    ...(waiting === undefined
      ? []
      : [fitLine([{ text: `answering ${waiting}`, style: "faint" }], width, scene.look.glyphs)]),
    [],
  ];
}

function tableRoom(scene: Scene, own: WhatIfState): number {
  return Math.max(3, scene.area.height - answerLines(scene, own).length - 1);
}

function drawWhatIf(scene: Scene, own: WhatIfState): Drawn {
  const { width, height } = scene.area;
  const rows = rowsOf(own);
  const table = drawTable<WhatIfRow>({
    columns: columnsFor(rows[0]?.peakBytes, scene.document.formatTime),
    width,
    glyphs: scene.look.glyphs,
    count: rows.length,
    window: windowRows({ count: rows.length, height: tableRoom(scene, own), cursor: own.cursor, top: own.top }),
    row: (index) => rows[index],
    isMatch: (index) => isMatch(scene, rows[index].question),
  });
  // Without a cursor to reach them, all reasons are shown.
  const reasons = scene.look.isPlain ? rows.slice(1) : [];
  const told = reasons.flatMap(
    ({ question, answer, peakBytes, reason = peakBytes === undefined ? answer : undefined }) =>
      reason === undefined ? [] : wrapText(`${question}: ${reason}`, width, "  "),
  );
  const below = told.length === 0 ? [] : [[], ...told.map((text): Line => [{ text }])];
  const drawn = stack(textOnly(...answerLines(scene, own)), table, textOnly(...below));
  return { lines: drawn.lines.slice(0, height), regions: drawn.regions };
}
