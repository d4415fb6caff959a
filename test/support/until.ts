/** Waiting for a state that nothing tells of: it is asked for until it is there. */

/** Resolves once the check says so; rejects with what it throws. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 20));
}
