// Writes the workflow bundle beside the compiled code: bundling at start would cost seconds each time.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const dist = new URL('../dist/', import.meta.url);
const quiet = () => undefined;
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('workflows/index.js', dist)),
  logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error },
});
await writeFile(new URL('workflow-bundle.js', dist), code);
