/** Ids of approvals and questions as people give them: whole, or the beginning of one that is open. */
import { CommandError } from './cli-error.js';

/** A page of the ids that are open. */
export type OpenPage = (cursor: { readonly cursor?: string }) => Promise<{
  readonly ids: readonly string[];
  readonly nextCursor: string | null;
}>;

const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The ids that the names stand for, each once. A whole id stands for itself, open or not.
 *
 * @throws CommandError for a beginning that no open one has, or several.
 */
export async function openIds(
  what: 'approval' | 'question',
  names: readonly string[],
  page: OpenPage,
): Promise<readonly string[]> {
  let open: readonly string[] | undefined;
  const ids = new Set<string>();
  for (const name of names) {
    if (WHOLE_ID.test(name)) {
      ids.add(name);
      continue;
    }
    open ??= await allOf(page);
    const [id, other] = open.filter((candidate) => candidate.startsWith(name));
    if (id === undefined) throw new CommandError(`No open ${what} begins with "${name}".`);
    if (other !== undefined) {
      throw new CommandError(`More than one open ${what} begins with "${name}"; give more of its id.`);
    }
    ids.add(id);
  }
  return [...ids];
}

async function allOf(page: OpenPage): Promise<readonly string[]> {
  const all: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const { ids, nextCursor } = await page(cursor === undefined ? {} : { cursor });
    all.push(...ids);
    cursor = nextCursor;
  }
  return all;
}
