import { type Kind, kinds, type Op, shapes } from "./ops/index.js";
import type { Program, Statement } from "./program.js";

/**
 * Writes a program as JavaScript: an asynchronous function of `{ tf, t, block }`, where `t` records what the program
 * sees and `block` wraps a function whose inside may be recomputed.
 */
export function sourceOfProgram(program: Program): string {
  return new ProgramSource(program).text();
}

/** Values by kind, the latest last. */
type Values = Readonly<Record<Kind, readonly string[]>>;

interface Written {
  readonly values: Values;
  /** Values other than inputs, in the order in which they were made. */
  readonly made: readonly string[];
}

const inputNames: Readonly<Record<Kind, string>> = { matrix: "m", sequence: "s", image: "i", volume: "v" };

class ProgramSource {
  private readonly program: Program;
  private readonly head: string[] = [];
  private readonly inputs = new Set<Kind>();
  private readonly counts: Record<string, number> = {};

  constructor(program: Program) {
    this.program = program;
  }

  text(): string {
    const { batches, optimizer, update, statements } = this.program;
    const none = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as Values;
    const body: string[] = [];
    const { values, made } = this.write(statements, { values: none, made: [] }, body);
    const lasts = kinds.flatMap((kind) => values[kind].slice(-1)).filter((name) => made.includes(name));
    const losses = lasts.length > 0 ? lasts : [this.pick({ values, made }, "matrix", 0)];
    const used = kinds.filter((kind) => this.inputs.has(kind));
    const names = used.map((kind) => inputNames[kind]);
    const isOfInputs = update === "valueAndGrads";
    return [
      "async ({ tf, t, block }) => {",
      ...used.map(
        (kind) => `const ${inputNames[kind]}w = ${this.weight(shapes[kind].join(", "), `${inputNames[kind]}w`)};`,
      ),
      ...this.head,
      `const optimizer = ${optimizer};`,
      "const kept = [];",
      `for (const [step, batch] of [${batches.join(", ")}].entries()) {`,
      ...used.map((kind, k) => {
        const shape = ["batch", ...shapes[kind]].join(", ");
        return `const ${inputNames[kind]} = tf.randomNormal([${shape}], 0, 1, "float32", 10 * step + ${k + 1});`;
      }),
      `const loss = (${isOfInputs ? names.join(", ") : ""}) => {`,
      ...used.map((kind) => `const ${inputNames[kind]}0 = tf.mul(${inputNames[kind]}, ${inputNames[kind]}w);`),
      ...body,
      `return ${losses.length === 1 ? `tf.mean(${losses[0]})` : `tf.addN([${losses.map((name) => `tf.mean(${name})`).join(", ")}])`};`,
      "};",
      "await t.step(() => tf.tidy(() => {",
      ...updateLines[update](names),
      "}));",
      `tf.dispose([${names.join(", ")}, ...kept.splice(0)]);`,
      "}",
      't.note("weights", ...Object.values(tf.engine().registeredVariables));',
      "optimizer.dispose();",
      "tf.disposeVariables();",
      "}",
    ].join("\n");
  }

  private next(prefix: string): string {
    const count = this.counts[prefix] ?? 0;
    this.counts[prefix] = count + 1;
    return `${prefix}${count}`;
  }

  private weight(shape: string, name: string): string {
    const seed = 100 + (this.counts.seed = (this.counts.seed ?? 0) + 1);
    return `tf.variable(tf.randomNormal([${shape}], 0, 0.5, "float32", ${seed}), true, "${name}")`;
  }

  /** The value at a distance from the last. The input of that kind if there are too few. */
  private pick({ values }: Written, kind: Kind, back: number): string {
    const have = values[kind];
    const place = back % (have.length + 1);
    if (place < have.length) return have[have.length - 1 - place];
    this.inputs.add(kind);
    return `${inputNames[kind]}0`;
  }

  private write(statements: readonly Statement[], before: Written, lines: string[]): Written {
    let now = before;
    const add = (kind: Kind, text: string) => {
      const name = this.next("x");
      lines.push(`const ${name} = ${text};`);
      now = { values: { ...now.values, [kind]: [...now.values[kind], name] }, made: [...now.made, name] };
    };
    for (const statement of statements)
      switch (statement.does) {
        case "op": {
          const { op, x, y } = statement;
          add(op.to, this.expression(op, this.pick(now, op.from, x), this.pick(now, op.from, y)));
          break;
        }
        case "read": {
          const name = this.pick(now, statement.kind, statement.x);
          lines.push(`t.note("${name}", ${name});`);
          break;
        }
        case "keep":
          lines.push(`kept.push(tf.keep(${this.pick(now, statement.kind, statement.x)}));`);
          break;
        case "dispose": {
          const name = this.pick(now, statement.kind, statement.x);
          // An input is available to any statement.
          if (!now.made.includes(name)) break;
          lines.push(`${name}.dispose();`);
          const left = now.values[statement.kind].filter((other) => other !== name);
          now = { values: { ...now.values, [statement.kind]: left }, made: now.made };
          break;
        }
        case "assign": {
          const kind = kinds.filter((each) => this.inputs.has(each)).at(statement.x % 4) ?? "matrix";
          this.inputs.add(kind);
          const name = `${inputNames[kind]}w`;
          lines.push(`${name}.assign(tf.tidy(() => tf.mul(${name}, 0.9)));`);
          break;
        }
        case "fail":
          lines.push(`if (step === ${statement.step}) throw new Error("broken off");`);
          break;
        case "failInBackward": {
          const fails = `(dy) => { if (step === 1) throw new Error("broken off"); return dy; }`;
          const x = this.pick(now, statement.kind, statement.x);
          add(statement.kind, `tf.customGrad((z) => ({ value: tf.clone(z), gradFunc: ${fails} }))(${x})`);
          break;
        }
        default: {
          const { does, kind, statements: inner } = statement;
          const x = this.pick(now, kind, statement.x);
          const z = this.next("z");
          const inside: string[] = [];
          const start = { ...now, values: { ...now.values, [kind]: [...now.values[kind], z] } };
          const end = this.write(inner, { ...start, made: [] }, inside);
          const last = end.made.filter((name) => kinds.some((each) => end.values[each].includes(name))).at(-1) ?? z;
          const lastKind = kinds.find((each) => end.values[each].includes(last)) ?? kind;
          const { text, to } = nestedText[does]({ x, z, inside: inside.join("\n"), last, lastKind, kind });
          add(to, text);
        }
      }
    return now;
  }

  private expression(op: Op, x: string, y: string): string {
    return op.text
      .replaceAll(/\$l\{(.*?)\}\.apply/g, (_, layer: string) => `${this.declare("l", layer)}.apply`)
      .replaceAll(/\$w\[([^\]]*)\]/g, (_, shape: string) => {
        const name = `w${this.counts.w ?? 0}`;
        return this.declare("w", this.weight(shape, name));
      })
      .replaceAll(/\$c\[([^\]]*)\]/g, (_, shape: string) =>
        this.declare("c", `tf.randomNormal([${shape}], 0, 1, "float32", ${300 + (this.counts.c ?? 0)})`),
      )
      .replaceAll(/\$i\[(\d+), (\d+)\]/g, (_, count: string, below: string) => {
        const numbers = Array.from({ length: Number(count) }, (_, i) => (i * 7 + 3) % Number(below));
        return this.declare("c", `tf.tensor1d([${numbers.join(", ")}], "int32")`);
      })
      .replaceAll("$x", x)
      .replaceAll("$y", y)
      .replaceAll("$B", "batch");
  }

  /** Names something that is made once, before the first step. */
  private declare(prefix: "w" | "c" | "l", text: string): string {
    const name = this.next(prefix);
    this.head.push(`const ${name} = ${text};`);
    return name;
  }
}

interface NestedParts {
  readonly x: string;
  readonly z: string;
  readonly inside: string;
  readonly last: string;
  readonly lastKind: Kind;
  readonly kind: Kind;
}

const nestedText: Readonly<Record<string, (parts: NestedParts) => { readonly text: string; readonly to: Kind }>> = {
  tidy: ({ x, z, inside, last, lastKind }) => ({
    text: `tf.tidy(() => {\nconst ${z} = ${x};\n${inside}\nreturn ${last};\n})`,
    to: lastKind,
  }),
  block: ({ x, z, inside, last, lastKind }) => ({
    text: `block((${z}) => {\n${inside}\nreturn ${last};\n})(${x})`,
    to: lastKind,
  }),
  grad: ({ x, z, inside, last, kind }) => ({
    text: `tf.grad((${z}) => {\n${inside}\nreturn tf.sum(${last});\n})(${x})`,
    to: kind,
  }),
  customGrad: ({ x, z, inside, last, lastKind }) => ({
    text: `tf.customGrad((${z}, save) => {\n${inside}\nsave([${z}]);\nreturn { value: ${last}, gradFunc: (dy, [z]) => tf.mul(z, tf.mean(dy)) };\n})(${x})`,
    to: lastKind,
  }),
};

const updateLines: Readonly<Record<Program["update"], (inputs: readonly string[]) => readonly string[]>> = {
  minimize: () => ['t.note("loss", optimizer.minimize(loss, true));'],
  variableGrads: () => [
    "const { value, grads } = tf.variableGrads(loss);",
    't.note("loss and gradients", value, grads);',
    "optimizer.applyGradients(grads);",
  ],
  valueAndGrads: (inputs) => [
    `const { value, grads } = tf.valueAndGrads(loss)([${inputs.join(", ")}]);`,
    't.note("loss and gradients", value, grads);',
  ],
};
