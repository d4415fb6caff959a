/**
 * Matches paths against globs: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any folders. Without backtracking over the
 * whole path, so that no pattern of a model takes long.
 */

const MAX_ALTERNATIVES = 256;

/**
 * Makes a matcher for paths with `/` between their parts. A glob without a `/` fits the file's name at any depth.
 * @throws RangeError where the braces of the glob make too many alternatives
 */
export function pathMatcher(glob: string): (path: string) => boolean {
  const alternatives = expandBraces(glob).map((alternative) => {
    const anchored = alternative.includes('/') ? alternative : `**/${alternative}`;
    return anchored.split('/').filter((part) => part !== '' && part !== '.');
  });
  return (path) => {
    const parts = path.split('/');
    return alternatives.some((pattern) => matchesParts(pattern, parts));
  };
}

function expandBraces(glob: string): string[] {
  const done: string[] = [];
  const open = [glob];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    // The innermost braces, which have no others in them.
    const braces = /\{([^{}]*,[^{}]*)\}/.exec(next);
    if (braces === null) {
      done.push(next);
    } else {
      const [whole, inner = ''] = braces;
      const before = next.slice(0, braces.index);
      const after = next.slice(braces.index + whole.length);
      open.push(...inner.split(',').map((choice) => before + choice + after));
    }
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new RangeError(`the braces make more than ${String(MAX_ALTERNATIVES)} alternatives`);
    }
  }
  return done;
}

/** Matches sequences with one wildcard (`isMany`) by remembering only its latest place. */
function matchesSequence<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  { isMany, fits }: { isMany: (part: P) => boolean; fits: (part: P, item: T) => boolean },
): boolean {
  let p = 0;
  let i = 0;
  let retry: { p: number; i: number } | undefined;
  while (i < items.length) {
    const part = pattern[p];
    if (part !== undefined && isMany(part)) {
      retry = { p: p + 1, i };
      p += 1;
    } else if (part !== undefined && fits(part, items[i] as T)) {
      p += 1;
      i += 1;
    } else if (retry !== undefined) {
      retry = { p: retry.p, i: retry.i + 1 };
      ({ p, i } = retry);
    } else {
      return false;
    }
  }
  return pattern.slice(p).every(isMany);
}

function matchesParts(pattern: readonly string[], parts: readonly string[]): boolean {
  return matchesSequence(pattern, parts, { isMany: (part) => part === '**', fits: matchesName });
}

type NameToken =
  { readonly kind: 'many' } | { readonly kind: 'one'; readonly fits: (sign: string) => boolean };

function matchesName(pattern: string, name: string): boolean {
  return matchesSequence(tokensOf(pattern), Array.from(name), {
    isMany: ({ kind }) => kind === 'many',
    fits: (token, sign) => token.kind === 'one' && token.fits(sign),
  });
}

function tokensOf(pattern: string): NameToken[] {
  const tokens: NameToken[] = [];
  const parts = pattern.matchAll(/\\(.)|\[([!^]?)(\]?[^\]]*)\]|[^]/gu);
  for (const [sign, escaped, negation, set] of parts) {
    if (escaped !== undefined) tokens.push(one((other) => other === escaped));
    else if (set !== undefined && set !== '') tokens.push(one(inSet(set, negation !== '')));
    else if (sign === '*') tokens.push({ kind: 'many' });
    else if (sign === '?') tokens.push(one(() => true));
    else tokens.push(one((other) => other === sign));
  }
  return tokens;
}

function one(fits: (sign: string) => boolean): NameToken {
  return { kind: 'one', fits };
}

function inSet(set: string, negated: boolean): (sign: string) => boolean {
  const ranges = [...set.matchAll(/([^])-([^])|([^])/gu)].map(
    ([, from, to, single]) => [from ?? single ?? '', to ?? single ?? ''] as const,
  );
  return (sign) => ranges.some(([from, to]) => from <= sign && sign <= to) !== negated;
}
