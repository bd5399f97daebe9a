/** Answers each message of the parent, one after the other as they come: `{ job, question }` by `{ answer }` or `{ error }`. */
export function answerQuestions(answerTo) {
  process.on("message", ({ job, question }) => {
    void answerTo(job, question).then(
      (answer) => process.send({ answer }),
      (error) => process.send({ error: error.stack }),
    );
  });
}
