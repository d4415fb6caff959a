/** What a call would do, for the person who is asked about it. It is a help only: where it fails, it is left out. */
import type { ApprovalPreview } from '../contract/events.js';
import { parseCallArguments } from './call-arguments.js';
import type { CallRequest } from './pipeline.js';
import type { ToolRegistry } from './registry.js';
import type { ToolContext } from './tool.js';

/** How long a preview may take, and how much of it is kept. */
const DEADLINE_MS = 2000;
const KEPT_CHARACTERS = 16_000;

/** The tool's preview of the call; undefined where it has none, fails or is late. Never throws. */
export async function previewCall(
  registry: ToolRegistry,
  call: CallRequest['call'],
  context: ToolContext,
): Promise<ApprovalPreview | undefined> {
  const tool = registry.get(call.name);
  const parsed = tool === undefined ? undefined : parseCallArguments(tool, call.arguments);
  const make = tool?.preview?.bind(tool);
  if (make === undefined || parsed?.ok !== true) return undefined;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(DEADLINE_MS)]);
  const late = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => {
      resolve(undefined);
    });
  });
  const made = (async () => make(parsed.value, { ...context, signal }))().catch(() => {
    // An error leaves the preview out: the arguments are shown in any case.
    return undefined;
  });
  const preview = await Promise.race([made, late]);
  if (preview === undefined || preview.text.length <= KEPT_CHARACTERS) return preview;
  const rest = preview.text.length - KEPT_CHARACTERS;
  return {
    ...preview,
    text: `${preview.text.slice(0, KEPT_CHARACTERS)}\n[${String(rest)} more characters]`,
  };
}
