/**
 * Lets decisions inside of a transaction depend on hooks, which may take seconds and so are asked outside of it.
 *
 * Owns the round: work that needs an answer which nobody has given yet is rolled back, the hooks are asked, and the work
 * runs again. What is asked is named by all that it depends on, so that an answer holds only while the log says the same.
 */

export interface HookAnswers {
  /** The answer to the question of this name. Where it is not known yet, the work is given up by a throw, to run again. */
  of<T>(question: string, ask: () => Promise<T>): T;
}

class OpenQuestion extends Error {
  override readonly name = 'OpenQuestion';
  constructor(
    readonly question: string,
    readonly ask: () => Promise<unknown>,
  ) {
    super('The hooks have to be asked first.');
  }
}

/** Runs the work until every question that it comes to has its answer. Each is asked once. */
export async function withHookAnswers<T>(work: (answers: HookAnswers) => Promise<T>): Promise<T> {
  const known = new Map<string, unknown>();
  const answers: HookAnswers = {
    of: <A>(question: string, ask: () => Promise<A>): A => {
      if (known.has(question)) return known.get(question) as A;
      throw new OpenQuestion(question, ask);
    },
  };
  for (;;) {
    try {
      return await work(answers);
    } catch (error) {
      if (!(error instanceof OpenQuestion)) throw error;
      known.set(error.question, await error.ask());
    }
  }
}
