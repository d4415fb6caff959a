/** Checks whether commands can be confined. */
import { detectSandbox } from '../../tools/sandbox/detect-sandbox.js';
import { type Check, ok, warning } from './check.js';

export const sandboxCheck: Check = {
  name: 'sandbox',
  run: async ({ env }) => {
    const sandbox = await detectSandbox(env);
    return sandbox.works
      ? ok(`Commands are confined by ${sandbox.program} ${sandbox.version}.`)
      : warning(
          `Commands cannot be confined, so each asks a person first, unless the permission is full-access. ${sandbox.reason}`,
        );
  },
};
