import fc from "fast-check";

/** A sharding plan for one of two models, `tf` (four layers) and `mlp` (four blocks). */
export interface DrawnPlan {
  readonly model: "tf" | "mlp";
  readonly plan: string;
}

const models = {
  tf: {
    blocks: [0, 1, 2, 3].map((i) => `layers.${i}`),
    parts: ["attention", "feed_forward", "feed_forward.w1", "attention_norm"],
    ops: ["mm", "addmm", "mm%2", "dots_saveable", "bmm", "gelu", "mm#1"],
    all: "'layers.*'",
    // A cast that the model's own code makes, which a run in float32 does not show.
    casts: ["cast=output:float32"],
  },
  mlp: {
    blocks: ["0", "1", "2", "3"],
    parts: ["in_proj", "out_proj"],
    ops: ["addmm", "addmm#0", "gelu", "dots_saveable", "addmm%2"],
    all: "'?'",
    casts: [],
  },
} as const;

const sometimes = (...items: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constantFrom(...items).map((item) => [item]) },
  );

/** Draws the items of a plan one by one, so that a finding shrinks to the settings that it needs. */
export const drawnPlan: fc.Arbitrary<DrawnPlan> = fc
  .record({
    model: fc.constantFrom("tf" as const, "mlp" as const),
    mesh: fc.constantFrom([2, 1], [4, 1], [8, 1], [4, 2], [8, 2], [8, 4]),
  })
  .chain(({ model, mesh: [world, replicas] }) => {
    const { blocks, parts, ops, all, casts } = models[model];
    const ranks = world / replicas;
    const policies = ["", "(no-reshard)", "(reshard)", ...(ranks > 2 ? ["(reshard=2)"] : [])];
    const policy = fc.constantFrom(...policies);
    const each = fc.tuple(...blocks.map((block) => policy.map((one) => `wrap=${block}${one}`)));
    const pairs = fc
      .tuple(fc.integer({ min: 1, max: 3 }), policy, policy)
      .map(([at, a, b]) => [`wrap=${blocks.slice(0, at).join("+")}${a}`, `wrap=${blocks.slice(at).join("+")}${b}`]);
    const some = fc
      .subarray([...blocks], { minLength: 1, maxLength: 3 })
      .chain((chosen) => fc.tuple(...chosen.map((block) => policy.map((one) => `wrap=${block}${one}`))));
    const rules = fc
      .subarray([...ops], { minLength: 0, maxLength: 2 })
      .map((chosen) => (chosen.length === 0 ? "" : `(save=${chosen.join("+")})`));
    const checkpoints = fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: rules.map((how) => [`checkpoint=${all}${how}`]) },
      {
        weight: 1,
        arbitrary: fc
          .subarray([...blocks], { minLength: 1, maxLength: 3 })
          .chain((chosen) => fc.tuple(...chosen.map((block) => rules.map((how) => `checkpoint=${block}${how}`)))),
      },
      {
        weight: 1,
        arbitrary: fc
          .record({ block: fc.constantFrom(...blocks), part: fc.constantFrom(...parts), how: rules })
          .map(({ block, part, how }) => [`checkpoint=${block}.${part}${how}`]),
      },
    );
    const precision = fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.constantFrom("bf16", "param=bfloat16").map((item) => [item, ...casts]) },
    );
    const passes = fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.constantFrom(["micro-batches=2"], ["micro-batches=3", "sync-last"]) },
    );
    return fc
      .tuple(
        fc.oneof(each, pairs, some),
        sometimes("root(no-reshard)", "root(reshard)"),
        sometimes("forward-prefetch=1", "forward-prefetch=2", "forward-prefetch=3"),
        sometimes("backward-prefetch=1", "backward-prefetch=2", "backward-prefetch=3"),
        sometimes("no-reshard-after-backward"),
        sometimes("offload"),
        precision,
        checkpoints,
        passes,
      )
      .map((items) => ({
        model,
        plan: [`world=${world}`, ...(replicas > 1 ? [`replicas=${replicas}`] : []), ...items.flat()].join(","),
      }));
  });
