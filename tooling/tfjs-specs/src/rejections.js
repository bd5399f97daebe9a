/** @typedef {import("./run-specs.js").SpecRun["specs"][number]} SpecOutcome */

/** How jasmine begins to tell of one. */
const prefix = "Unhandled promise rejection";
/** And how it is told of the spec that began it. */
export const leftWork = `${prefix}, after the spec`;

/**
 * Gives rejected promises that no spec has waited for to those that began them. Jasmine fails whichever spec runs when it hears of one, or a suite if none does: what begins
 * something and does not wait for it would be hidden, and its neighbour be blamed.
 */
export class Rejections {
  /** @type {{ readonly by: string, readonly reason: string }[]} */
  #seen = [];

  /**
   * @param {Map<string, SpecOutcome>} specs what has come of those that are over, by jasmine's id
   */
  constructor(specs) {
    this.specs = specs;
  }

  /**
   * Work that the spec `by` has begun was rejected, and nobody waited for it.
   *
   * @param {string} by
   * @param {unknown} error
   */
  note(by, error) {
    const reason = error instanceof Error ? error.message : String(error);
    this.#seen.push({ by, reason });
    const outcome = this.specs.get(by);
    // One that still runs jasmine fails by itself.
    if (outcome === undefined) return;
    const messages = [...outcome.messages, `${leftWork}: ${reason}`];
    this.specs.set(by, { ...outcome, status: "failed", messages });
  }

  /**
   * Of what jasmine says of a spec, or of a suite, that which stems from none of the others.
   *
   * @param {readonly string[]} messages
   * @param {string} [id] of the spec
   */
  own(messages, id) {
    const others = this.#seen.filter(({ by }) => by !== id);
    return messages.filter(
      (message) => !message.startsWith(prefix) || !others.some(({ reason }) => message.includes(reason)),
    );
  }
}
