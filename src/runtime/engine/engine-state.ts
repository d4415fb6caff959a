/**
 * `engine.json` of the home: the ports that the embedded engine keeps over restarts, and the process that runs it.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { identifyProcess, isRunning, type ProcessIdentity } from '../home/process-identity.js';
import { readStateFile, writeStateFile } from '../home/state-file.js';

/** In the home, which is the engine's working folder. */
export const DATABASE_FILE = 'temporal.db';

const engineStateSchema = z.object({
  port: z.number().int(),
  uiPort: z.number().int(),
  /** Program and arguments; an engine that was started with other ones is not adopted. */
  command: z.array(z.string()),
  /** Absent while no engine runs. */
  pid: z.number().int().positive().optional(),
  startTime: z.string().optional(),
});
export type EngineState = z.infer<typeof engineStateSchema>;

function stateFile(home: string): string {
  return join(home, 'engine.json');
}

export function readEngineState(home: string): EngineState | undefined {
  return readStateFile(stateFile(home), engineStateSchema);
}

export function writeEngineState(home: string, state: EngineState): void {
  writeStateFile(stateFile(home), state);
}

/** The engine that the file tells of, if that very process runs still. */
export function recordedEngine(state: EngineState | undefined): ProcessIdentity | undefined {
  if (state?.pid === undefined || state.startTime === undefined) return undefined;
  const identity = { pid: state.pid, startTime: state.startTime };
  return isRunning(identity) ? identity : undefined;
}

/**
 * Engines of this home that the file does not tell of, as when `serve` was killed between starting one and writing the
 * file. An engine is known by its working folder, which is the home. Looks in /proc; elsewhere there are none.
 */
export function strayEngines(home: string, except: number | undefined): readonly ProcessIdentity[] {
  const folder = realpathSync(home);
  return processIds()
    .filter((pid) => pid !== except && pid !== process.pid && isEngineIn(folder, pid))
    .map(identifyProcess)
    .filter((identity) => identity !== undefined);
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    // No /proc on this system.
    return [];
  }
}

function isEngineIn(folder: string, pid: number): boolean {
  try {
    if (readlinkSync(`/proc/${String(pid)}/cwd`) !== folder) return false;
    const args = readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8').split('\0');
    return args.includes('start-dev') && args.includes(DATABASE_FILE);
  } catch {
    // It ended meanwhile, or belongs to another user.
    return false;
  }
}
