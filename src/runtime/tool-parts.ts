/** The tools of this deployment: what Turnkeeper brings, what the configuration adds, and the hooks around them. */
import type { Logger } from 'pino';
import type { TurnHooks } from '../activities/turn-hooks.js';
import type { ToolDirectory } from '../api/app-deps.js';
import { BUILT_IN_TOOLS } from '../tools/built-in-tools.js';
import { checkArguments } from '../tools/call-arguments.js';
import { createToolPipeline, type ToolPipeline } from '../tools/pipeline.js';
import { createToolRegistry, type ToolRegistry } from '../tools/registry.js';
import { createConfiguredSearch } from '../tools/web-search/configured-search.js';
import { createWebSearchTool } from '../tools/web-search/web-search-tool.js';
import type { LoadedConfiguration } from './configuration/load-configuration.js';
import type { EventObservers } from './extensions/event-observers.js';
import { loadExtensions } from './extensions/load-extensions.js';

export interface ToolParts {
  readonly registry: ToolRegistry;
  readonly pipeline: ToolPipeline;
  readonly turnHooks: TurnHooks;
  readonly eventObservers: EventObservers;
  /** What the API knows of them. */
  readonly directory: ToolDirectory;
}

/** @throws ConfigurationError `EXTENSION_INVALID`. */
export async function assembleTools(
  { configuration, file }: Pick<LoadedConfiguration, 'configuration' | 'file'>,
  env: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<ToolParts> {
  const { webSearch } = configuration;
  const search = webSearch === null ? [] : [createWebSearchTool(createConfiguredSearch(webSearch, env))];
  const own = [...BUILT_IN_TOOLS, ...search];
  const extensions = await loadExtensions(configuration.extensions, {
    configurationFile: file,
    logger,
    takenToolNames: [...BUILT_IN_TOOLS.map(({ name }) => name), 'web_search'],
  });
  const registry = createToolRegistry([...own, ...extensions.tools]);
  return {
    registry,
    pipeline: createToolPipeline({ registry, hooks: extensions.toolHooks, clock: Date.now, logger }),
    turnHooks: extensions.turnHooks,
    eventObservers: extensions.eventObservers,
    directory: {
      checkArguments: (name, args, asked) => {
        const tool = registry.get(name);
        if (tool === undefined) return `There is no tool named "${name}" any more.`;
        const checked = checkArguments(tool, args);
        if (!checked.ok) return `They do not fit ${name}: ${checked.violations.join('; ')}.`;
        const before = checkArguments(tool, asked);
        const wasParallel = before.ok && tool.concurrency(before.value) === 'parallel';
        return wasParallel && tool.concurrency(checked.value) === 'exclusive'
          ? `With them ${name} would have to run alone, and it was asked for beside other calls. Deny it, so that the model asks again.`
          : undefined;
      },
    },
  };
}
