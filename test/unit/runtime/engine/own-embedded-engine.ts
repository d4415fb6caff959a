/**
 * A process for the engine's tests: starts the embedded engine with the CLI in the home given as arguments, says its
 * pid and address as one line of JSON, and stays until it is killed.
 */
import { pino } from 'pino';
import { startEmbeddedEngine } from '../../../../src/runtime/engine/embedded-engine.js';

const [cli = '', home = ''] = process.argv.slice(2);
const logger = pino({ enabled: false });
const { pid, address } = await startEmbeddedEngine({ cli, home, namespace: 'default', logger });
console.log(JSON.stringify({ pid, address }));
setInterval(() => undefined, 60_000);
