import type { HeldPeak } from "@remat/memory";
import { type LayerCosts, layerCosts } from "@remat/runtime-estimator";
import { type Trace, traceNotes } from "@remat/trace";
import { describeCosts, formatCount } from "../describe-costs.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeTimes, type TimeFormat, timeFormat } from "../time-quality.js";
import { categoriesTable } from "./categories-table.js";

/** A call of `predict` for one batch, with estimated times. */
export interface PredictionSummary {
  readonly trace: Trace;
  readonly peak: HeldPeak;
  /** The device that times are estimated for. */
  readonly pricedFor: string;
}

/** Options of {@link predictionDocument}. */
export interface PredictionDocumentOptions {
  /** How many of the slowest layers to show. Default: all layers, in execution order. */
  readonly limit?: number | undefined;
  readonly units?: SizeUnit | undefined;
}

/**
 * Returns the cost of inference with a model: parameters, multiply-adds, FLOPs and time, in total and by layer. The
 * records have one row for each layer.
 */
export function predictionDocument(
  { trace, peak, pricedFor }: PredictionSummary,
  { limit, units }: PredictionDocumentOptions = {},
): OutputDocument {
  const costs = layerCosts(trace);
  const { header } = trace;
  const size = sizeFormat(units);
  const time = timeFormat(trace);
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${header.model ?? "model"}, inference: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, ${describeTimes(pricedFor, trace)}`,
          `${trace.ops.count} ops in ${time(costs.total.forwardMs)}; ${describeCosts(costs)}`,
          ...traceNotes(trace).map((note) => `note: ${note}`),
        ],
      },
      categoriesTable({ ...peak, place: "peak" }, size),
      layersTable(costs, time, limit),
    ],
    records: () => ({
      columns: ["layer", "kind", "calls", "parameters", "buffers", "multiplyAdds", "flops", "forwardMs"],
      rows: costs.layers.map((layer) => [
        layer.fqn,
        layer.kind,
        layer.calls,
        layer.parameters,
        layer.buffers,
        layer.multiplyAdds,
        layer.flops,
        layer.forwardMs,
      ]),
    }),
    value: () => ({ header, pricedFor, ops: trace.ops.count, peak, ...costs }),
  };
}

function layersTable({ layers, outside, total }: LayerCosts, time: TimeFormat, limit = layers.length): DocumentPart {
  const shown = limit < layers.length ? layers.toSorted((a, b) => b.forwardMs - a.forwardMs).slice(0, limit) : layers;
  const rest = { fqn: "outside layers", kind: "", outputShape: undefined, parameters: 0, buffers: 0, ...outside };
  const all = { fqn: "all", kind: "", outputShape: undefined, ...total };
  const rows = [...shown, ...(outside.flops > 0 || outside.forwardMs > 0 ? [rest] : []), all];
  return {
    kind: "table",
    title: shown.length < layers.length ? `Slowest ${shown.length} of ${layers.length} layers` : "Layers",
    headers: ["Layer", "Kind", "Output", "Parameters", "Multiply-adds", "FLOPs", "Time"],
    worth: [9, 1, 2, 7, 6, 5, 4],
    rows: rows.map(({ fqn, kind, outputShape, parameters, buffers, multiplyAdds, flops, forwardMs }) => [
      fqn,
      kind,
      outputShape === undefined ? "" : `[${outputShape.join(", ")}]`,
      formatCount(parameters + buffers),
      formatCount(multiplyAdds),
      formatCount(flops),
      time(forwardMs),
    ]),
    remark:
      "FLOPs count matrix products, convolutions and attention, two for each multiply-add, for the whole batch. A weight shared by several layers counts for each layer, but once in the total.",
  };
}
