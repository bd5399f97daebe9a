/** @typedef {import("./run-specs.js").SpecRun["specs"][number]} SpecOutcome */

/** Prefix of jasmine's message about a rejection. */
const prefix = "Unhandled promise rejection";
/** Prefix of the message for the spec that started the work. */
export const leftWork = `${prefix}, after the spec`;

/**
 * Attributes unhandled rejections to the specs that caused them. Jasmine fails the spec that is running when it hears
 * of a rejection, or a suite if no spec is running. A spec that starts work without awaiting it would be hidden, and
 * its neighbour blamed.
 */
export class Rejections {
  /** @type {{ readonly by: string, readonly reason: string }[]} */
  #seen = [];

  /** @param {Map<string, SpecOutcome>} specs outcomes of finished specs, by jasmine's id */
  constructor(specs) {
    this.specs = specs;
  }

  /**
   * Notes that unawaited work started by the spec `by` was rejected.
   *
   * @param {string} by
   * @param {unknown} error
   */
  note(by, error) {
    const reason = error instanceof Error ? error.message : String(error);
    this.#seen.push({ by, reason });
    const outcome = this.specs.get(by);
    // Jasmine itself fails a spec that is still running.
    if (outcome === undefined) return;
    const messages = [...outcome.messages, `${leftWork}: ${reason}`];
    this.specs.set(by, { ...outcome, status: "failed", messages });
  }

  /**
   * Returns the messages of a spec or suite without those caused by others.
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
