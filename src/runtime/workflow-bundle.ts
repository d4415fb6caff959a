/** Where the workflow bundle is: made at build time, because bundling takes seconds. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The bundle's file beside the compiled code. @throws Error where the build has not made it. */
export function workflowBundlePath(): string {
  // From src/ (tests) and from dist/ alike: the package's own folder is two levels up.
  const path = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));
  if (!existsSync(path)) throw new Error(`There is no workflow bundle at ${path}: run \`npm run build\`.`);
  return path;
}
