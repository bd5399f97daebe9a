import { RematError } from "@remat/trace";

const mebibyte = 2 ** 20;
/** Number of size classes for rounding: from 1 MiB, doubling, up to 64 GiB. */
const divisionClasses = 16;

/** The settings of PyTorch's CUDA caching allocator from `PYTORCH_CUDA_ALLOC_CONF` that affect reserved memory. */
export interface AllocatorSettings {
  /** Blocks of at least this size are never split. Infinity means that all blocks may be split. */
  readonly maxSplitBytes: number;
  /**
   * For each size class, the number of steps between two powers of two. Sizes are rounded up to the next step. 0 and 1
   * mean rounding to 512 bytes.
   */
  readonly roundupPower2Divisions: readonly number[];
  /** True if segments grow by pages instead of being allocated as a whole. */
  readonly expandableSegments: boolean;
  /** Size of a segment for blocks between 1 and 10 MiB, and of a page of an expandable segment. */
  readonly largeSegmentBytes: number;
}

/** The allocator's default settings. */
export const defaultAllocatorSettings: AllocatorSettings = {
  maxSplitBytes: Number.POSITIVE_INFINITY,
  roundupPower2Divisions: new Array<number>(divisionClasses).fill(0),
  expandableSegments: false,
  largeSegmentBytes: 20 * mebibyte,
};

/** Options that affect neither allocated nor reserved memory until memory runs out. */
const withoutEffect: ReadonlySet<string> = new Set([
  "backend",
  "garbage_collection_threshold",
  "graph_capture_record_stream_reuse",
  "max_non_split_rounding_mb",
  "per_process_memory_fraction",
  "pinned_max_cached_size_mb",
  "pinned_max_round_threshold_mb",
  "pinned_num_register_threads",
  "pinned_reserve_segment_size_mb",
  "pinned_use_background_threads",
  "pinned_use_cuda_host_register",
  "release_lock_on_cudamalloc",
  "throw_on_cudamalloc_oom",
]);

/**
 * Parses the text of `PYTORCH_CUDA_ALLOC_CONF`: `max_split_size_mb:128,expandable_segments:True`. `default` and the
 * empty text give the default settings. Source: c10's `AllocatorConfig.cpp`.
 *
 * @throws RematError `ALLOCATOR_SETTINGS` for an option or a value that the allocator would reject, and for a backend
 * other than `native`
 * @example
 * parseAllocatorSettings("roundup_power2_divisions:[256:1,512:2,>:4]").roundupPower2Divisions[9]; // 2
 */
export function parseAllocatorSettings(text: string): AllocatorSettings {
  if (text.trim() === "" || text.trim() === "default") return defaultAllocatorSettings;
  const settings = { ...defaultAllocatorSettings };
  for (const option of optionsIn(text)) {
    const [, name, value] = /^([a-z_0-9]+):(.+)$/.exec(option) ?? [];
    switch (name) {
      case "max_split_size_mb":
        settings.maxSplitBytes = megabytesOf(value, option, 20);
        break;
      case "large_segment_size_mb":
        settings.largeSegmentBytes = megabytesOf(value, option, 20);
        break;
      case "expandable_segments":
        settings.expandableSegments = truthOf(value, option);
        break;
      case "roundup_power2_divisions":
        settings.roundupPower2Divisions = divisionsOf(value, option);
        break;
      default:
        if (name === undefined || !withoutEffect.has(name)) throw refused(option, "a known option, as name:value");
        if (name === "backend" && value !== "native")
          throw refused(option, "native; the backend cudaMallocAsync keeps no segments");
    }
  }
  return settings;
}

/** Splits a text into options. Commas inside brackets do not separate options. */
function optionsIn(text: string): string[] {
  const packed = text.replaceAll(" ", "");
  const options: string[] = [];
  let isInside = false;
  let end = packed.length;
  // Scan from the end: a comma is inside brackets if the next bracket after it closes.
  for (let at = packed.length - 1; at >= 0; at--) {
    const character = packed[at];
    if (character === "[" || character === "]") isInside = character === "]";
    if (character !== "," || isInside) continue;
    options.push(packed.slice(at + 1, end));
    end = at;
  }
  options.push(packed.slice(0, end));
  return options.reverse().filter((option) => option !== "");
}

function megabytesOf(value: string, option: string, least: number): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < least) throw refused(option, `a whole number of MiB from ${least} up`);
  return count * mebibyte;
}

function truthOf(value: string, option: string): boolean {
  if (value !== "True" && value !== "False") throw refused(option, "True or False");
  return value === "True";
}

function divisionsOf(value: string, option: string): number[] {
  const divisions = new Array<number>(divisionClasses).fill(0);
  if (!value.startsWith("[")) return divisions.fill(powerOfTwo(value, option));
  if (!value.endsWith("]")) throw refused(option, "a list in brackets");
  let last = 0;
  let isFirst = true;
  for (const entry of value.slice(1, -1).split(",")) {
    const [size, steps = ""] = entry.split(":");
    const count = steps === "0" ? 0 : powerOfTwo(steps, option);
    if (size === ">") {
      divisions.fill(count, last);
      continue;
    }
    const place = Math.min(Math.log2(powerOfTwo(size, option)), divisionClasses - 1);
    if (isFirst) divisions.fill(count, 0, place);
    isFirst = false;
    divisions[place] = count;
    last = place;
  }
  return divisions;
}

function powerOfTwo(text: string, option: string): number {
  const count = Number(text);
  if (!(count >= 1) || !Number.isInteger(Math.log2(count)))
    throw refused(option, "powers of two, as 4 or [256:1,512:2,>:4]");
  return count;
}

function refused(option: string, expected: string): RematError {
  return new RematError(
    "ALLOCATOR_SETTINGS",
    `CUDA allocator settings: '${option}': expected ${expected}. Use the value of PYTORCH_CUDA_ALLOC_CONF.`,
  );
}
