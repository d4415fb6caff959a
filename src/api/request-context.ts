/** Who asks: the one place where a request gets its tenant and its name. Keys will be looked at here. */
import type { Request } from 'express';

export interface RequestContext {
  readonly tenant: string;
  /** Who the log names as the author of what this request causes. */
  readonly by: string;
}

const LOCAL: RequestContext = Object.freeze({ tenant: 'default', by: 'local' });

/** The context of a request. Without keys everybody is `local` in the tenant `default`. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- The request is what a key will be read from.
export function contextOf(request: Request): RequestContext {
  return LOCAL;
}
