/** Who asks: set for each request by `auth/authenticate.ts`, and read by the routes. */
import type { Request } from 'express';
import type { ApiKey } from '../contract/keys.js';

export interface RequestContext {
  readonly tenant: string;
  /** Who the log names as the author of what this request causes: the key's name, or `local`. */
  readonly by: string;
  /** What the request may do; null where no key is needed, and everything is allowed. */
  readonly key: ApiKey | null;
}

/** The context of everybody where no key is needed. */
export const LOCAL: RequestContext = Object.freeze({ tenant: 'default', by: 'local', key: null });

const contexts = new WeakMap<object, RequestContext>();

/** Says who asks. */
export function setContext(request: Request, context: RequestContext): void {
  contexts.set(request, context);
}

/** The context of a request. Throws for one that nobody has looked at: it must not pass as somebody's. */
export function contextOf(request: Request): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error(`Nobody has authenticated ${request.method} ${request.path}.`);
  return context;
}
