/** Answers each message of the parent, one after the other: `{ job, question }` with `{ answer }` or `{ error }`. */
export function answerQuestions(answerTo) {
  process.on("message", ({ job, question }) => {
    void answerTo(job, question).then(
      (answer) => process.send({ answer }),
      (error) => process.send({ error: error.stack }),
    );
  });
}
