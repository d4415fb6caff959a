/** Rows or keys in pieces: a database takes only so many parameters in one statement. */

const MAX_PER_STATEMENT = 1000;

/** The values in their order, in pieces of at most {@link MAX_PER_STATEMENT}. */
export function* chunked<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += MAX_PER_STATEMENT) {
    yield values.slice(from, from + MAX_PER_STATEMENT);
  }
}
